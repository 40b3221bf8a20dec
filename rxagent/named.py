"""Advisors that say their name and their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

from rxagent.requests import ChatRequest
from rxagent.types import Advisor, Exchange, Operator

__all__ = ["Named", "Order", "by_order", "name_of", "named"]


class Order(IntEnum):
    """Places for `by_order`, outermost first; leave steps of 100 between your own."""

    FIRST = -(2**31)
    AUDIT = FIRST + 100
    GUARD = FIRST + 150
    MEMORY = FIRST + 200
    RETRIEVAL = FIRST + 225
    CACHE = FIRST + 240
    VALIDATE = FIRST + 250
    TOOL_LOOP = FIRST + 300
    IN_LOOP = FIRST + 400
    DEFAULT = 0
    LAST_LOG = 2**31 - 101
    LAST = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Named:
    """An advisor that says its name, its settings and its place.

    Args:
        advise: The advisor.
        name: Shown by ``describe``, in errors and in spans.
        settings: What it was made with, in words; no secrets.
        order: Its place for `by_order`; a list needs none.
        owns_tools: It runs the tools of a request, so there may be only one.
        in_rounds: It acts on the rounds of a tool loop, where there is one: it belongs
            right of it.
        needs_loop: The same, and there has to be a loop.
        offer: What it does to the tools of a round, if it changes them: a loop runs
            calls of a paused turn by that, before the model is asked again.
        checks_type: It checks of what type the answer is, so that nobody else need.
    """

    advise: Advisor
    name: str
    settings: str = ""
    order: int = Order.DEFAULT
    owns_tools: bool = False
    in_rounds: bool = False
    needs_loop: bool = False
    offer: Operator[ChatRequest, ChatRequest] | None = None
    checks_type: bool = False

    @property
    def is_in_rounds(self) -> bool:
        """Whether it belongs right of a tool loop."""
        return self.in_rounds or self.needs_loop

    def __call__(self, inner: Exchange) -> Exchange:
        """Wrap the rest of the chain."""
        return self.advise(inner)

    def __repr__(self) -> str:
        return f"{self.name}({self.settings})"


def named(
    name: str,
    advisor: Advisor,
    *,
    settings: str = "",
    order: int = Order.DEFAULT,
    owns_tools: bool = False,
    in_rounds: bool = False,
    needs_loop: bool = False,
    offer: Operator[ChatRequest, ChatRequest] | None = None,
    checks_type: bool = False,
) -> Advisor:
    """Give ``advisor`` a name, and a place for `by_order`.

    Args:
        name: Shown by ``describe``, in errors and in spans.
        advisor: Any advisor.
        settings: What it was made with, in words; no secrets.
        order: Its place for `by_order`; a list needs none.
        owns_tools: It runs the tools of a request, so there may be only one.
        in_rounds: It acts on the rounds of a tool loop, where there is one: it belongs
            right of it.
        needs_loop: The same, and there has to be a loop.
        offer: What it does to the tools of a round, if it changes them: a loop runs
            calls of a paused turn by that, before the model is asked again.
        checks_type: It checks of what type the answer is, so that nobody else need.

    Returns:
        The same advisor, with a name.
    """
    return Named(
        advise=advisor,
        name=name,
        settings=settings,
        order=order,
        owns_tools=owns_tools,
        in_rounds=in_rounds,
        needs_loop=needs_loop,
        offer=offer,
        checks_type=checks_type,
    )


def name_of(advisor: Callable[..., object]) -> str:
    """The name of an advisor or of a function that makes one."""
    if isinstance(advisor, Named):
        return advisor.name
    name = getattr(advisor, "__qualname__", type(advisor).__name__)
    return str(name).replace(".<locals>", "").replace("<lambda>", "lambda")


def by_order(advisors: Iterable[Advisor]) -> list[Advisor]:
    """Sort advisors that come from several sources by their ``order``.

    Equal orders keep the order of the list; an advisor without one has
    ``Order.DEFAULT``.

    Args:
        advisors: In the order of registration.

    Returns:
        Outermost first.
    """
    return sorted(
        advisors, key=lambda a: a.order if isinstance(a, Named) else Order.DEFAULT
    )
