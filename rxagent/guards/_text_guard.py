"""What guards a text: the shape of it, and what it may tell of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from rxagent.types import Transducer

__all__ = ["Channel", "Placing", "Span", "TextGuard"]

TextGuard: TypeAlias = Callable[[], Transducer[str, str]]
"""Makes a transducer for each stream of text.

A transducer may have two attributes more.  ``held`` is how many characters of its input
it holds back undecided; events that come meanwhile wait for them.  ``is_done`` says
that it wants no more text: it is fed no more, and flushed at the end all the same.
"""

Channel: TypeAlias = Literal["text", "reasoning", "tool_arguments"]
"""Where the text of an answer stands; each call's arguments are a text of their own."""


class Span(NamedTuple):
    """A piece of output, and how much of the input it stands for.

    Args:
        text: What goes out.
        width: Characters of input that are decided by it.
        is_kept: It is that input, unchanged, so it can be divided where that can.
    """

    text: str
    width: int
    is_kept: bool


@runtime_checkable
class Placing(Protocol):
    """A transducer that can say which input its output stands for.

    Where an event stands between two pieces of held text, it is asked in this way.
    """

    def feed_placed(self, text: str, /) -> Iterable[Span]:
        """Take a piece; return what is ready, in order and without gaps."""
        ...

    def flush_placed(self) -> Iterable[Span]:
        """Return what is still held."""
        ...
