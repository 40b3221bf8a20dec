"""The shapes that every floor speaks: an agent is an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, Protocol, TypeAlias, TypeVar

from reactivex import Observable

from rxagent.events import ChatEvent
from rxagent.requests import ChatRequest

__all__ = [
    "Advisor",
    "AnswerMode",
    "Embedder",
    "Exchange",
    "Operator",
    "Transducer",
]

A = TypeVar("A")
B = TypeVar("B")
In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)

Operator: TypeAlias = Callable[[Observable[A]], Observable[B]]
"""RxPY's own operator."""

Exchange: TypeAlias = Callable[[Observable[ChatRequest]], Observable[ChatEvent]]
"""A model, the rest of a chain, a tool loop, a whole agent."""

Advisor: TypeAlias = Callable[[Exchange], Exchange]
"""An operator around the rest of the chain."""

AnswerMode: TypeAlias = Literal["native", "tool", "prompt"]
"""How a model is told the type of its answer: by the provider's own option, by a tool
that takes the answer, or in words."""

Embedder: TypeAlias = Callable[
    [Sequence[str]], Observable[tuple[tuple[float, ...], ...]]
]
"""What makes vectors of texts: one for each, in their order."""


class Transducer(Protocol[In, Out]):
    """A step with state: items in, items out, and what is left at the end.

    ``feed`` is called for each item, ``flush`` once after the last one.  An error or a
    disposal calls neither again.
    """

    def feed(self, item: In, /) -> Iterable[Out]:
        """Take an item; return what is ready."""
        ...

    def flush(self) -> Iterable[Out]:
        """Return what is still held."""
        ...
