"""Advisors, and the chain that they make: a fold.

An advisor is a function from an exchange (the rest of the chain) to an exchange.  The
list is the order: first is outermost, on the way in and on the way back, in every round
and retry.  ``inner`` is a cold function of its input, so calling it again is legal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import reduce
from itertools import groupby
from typing import TypeAlias

from reactivex import Observable

from rxagent.errors import AdvisorError, ConfigurationError
from rxagent.events import ChatEvent
from rxagent.offered import telling_tools
from rxagent.operators import concat_each, fuse, just
from rxagent.operators._transduction import is_transduction
from rxagent.requests import ChatRequest
from rxagent.types import Exchange, Operator

__all__ = [
    "Advisor",
    "Named",
    "Order",
    "after",
    "around",
    "before",
    "by_order",
    "chain",
    "name_of",
    "named",
]

Advisor: TypeAlias = Callable[[Exchange], Exchange]
"""An operator around the rest of the chain."""


class Order(IntEnum):
    """Places for `by_order`, outermost first; leave steps of 100 between your own."""

    FIRST = -(2**31)
    AUDIT = FIRST + 100
    GUARD = FIRST + 150
    MEMORY = FIRST + 200
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
    """

    advise: Advisor
    name: str
    settings: str = ""
    order: int = Order.DEFAULT
    owns_tools: bool = False

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
) -> Advisor:
    """Give ``advisor`` a name, and a place for `by_order`.

    Args:
        name: Shown by ``describe``, in errors and in spans.
        advisor: Any advisor.
        settings: What it was made with, in words; no secrets.
        order: Its place for `by_order`; a list needs none.
        owns_tools: It runs the tools of a request, so there may be only one.

    Returns:
        The same advisor, with a name.
    """
    return Named(
        advise=advisor,
        name=name,
        settings=settings,
        order=order,
        owns_tools=owns_tools,
    )


def name_of(advisor: Callable[..., object]) -> str:
    """The name of an advisor or of a function that makes one."""
    if isinstance(advisor, Named):
        return advisor.name
    name = getattr(advisor, "__qualname__", type(advisor).__name__)
    return str(name).replace(".<locals>", "").replace("<lambda>", "lambda")


def chain(advisors: Iterable[Advisor], model: Exchange) -> Exchange:
    """Fold advisors around a model, first one outermost.

    Args:
        advisors: Outermost first.
        model: The innermost exchange.

    Returns:
        The exchange that they make together.

    Raises:
        AdvisorError: If an advisor returns something that cannot be called.
        ConfigurationError: If the model or an advisor cannot be called.
    """
    if not callable(model) or isinstance(model, type):
        raise ConfigurationError(
            f"{model!r} is no model; pass an exchange, such as OpenAIChat(model=...)"
        )

    def wrap(inner: Exchange, advisor: Advisor) -> Exchange:
        if not callable(advisor):
            raise ConfigurationError(
                f"{advisor!r} is no advisor; make one with before, after or around"
            )
        outer = advisor(inner)
        if not callable(outer):
            raise _unexpected(name_of(advisor), outer, "an exchange")
        return outer

    advisors = tuple(advisors)
    if any(isinstance(each, Named) and each.owns_tools for each in advisors):
        model = telling_tools(model)
    return reduce(wrap, _fused(advisors), model)


def before(rewrite: Callable[[ChatRequest], ChatRequest]) -> Advisor:
    """Make an advisor that rewrites the request.

    ::

        --q-----------|
        [ before(rewrite) ]               inner answers rewrite(q) with --a--b--F|
        ----a--b--F---|

    Args:
        rewrite: Returns the request to go on with.

    Returns:
        An advisor.  An exception of ``rewrite`` is the error of the stream.
    """
    name = name_of(rewrite)

    def advise(inner: Exchange) -> Exchange:
        def rewritten(request: ChatRequest) -> ChatRequest:
            result = rewrite(request)
            if not isinstance(result, ChatRequest):
                raise _unexpected(name, result, "a ChatRequest")
            return result

        return concat_each(lambda request: just(rewritten(request)).pipe(inner))

    return advise


def after(operator: Operator[ChatEvent, ChatEvent]) -> Advisor:
    """Make an advisor that rewrites the events of each answer.

    ::

        --q-----------|
        [ after(operator) ]               operator maps each answer, --a--b--F|
        ----A--B--F---|

    Args:
        operator: Any operator; its state is fresh for each request.

    Returns:
        An advisor.
    """
    return _After(_checked(operator))


def around(
    handle: Callable[[ChatRequest, Exchange], Observable[ChatEvent]],
) -> Advisor:
    """Make an advisor that decides what to do with the rest of the chain.

    ::

        --q-----------|
        [ around(handle) ]                handle answers itself, with -c-F|
        ---c-F--------|

    Args:
        handle: Gets the request and the rest of the chain.  To ask it, any number of
            times: ``just(request).pipe(inner)``.  To answer without it: an observable
            that ends in one `Finished`.

    Returns:
        An advisor.  An exception of ``handle`` is the error of the stream.
    """
    name = name_of(handle)

    def advise(inner: Exchange) -> Exchange:
        def answer(request: ChatRequest) -> Observable[ChatEvent]:
            events = handle(request, inner)
            if not isinstance(events, Observable):
                raise _unexpected(name, events, "an Observable")
            return events

        return concat_each(answer)

    return advise


def by_order(advisors: Iterable[Advisor]) -> list[Advisor]:
    """Sort advisors that come from several sources by their ``order``.

    Equal orders keep the order of the list; an advisor without one has
    ``Order.DEFAULT``.

    Args:
        advisors: In the order of registration.

    Returns:
        Outermost first.
    """

    def order(advisor: Advisor) -> int:
        return advisor.order if isinstance(advisor, Named) else Order.DEFAULT

    return sorted(advisors, key=order)


@dataclass(frozen=True, slots=True)
class _After:
    """An advisor that still shows its operator, so that neighbours can be fused."""

    operator: Operator[ChatEvent, ChatEvent]

    def __call__(self, inner: Exchange) -> Exchange:
        return concat_each(lambda request: self.operator(just(request).pipe(inner)))


def _checked(
    operator: Operator[ChatEvent, ChatEvent],
) -> Operator[ChatEvent, ChatEvent]:
    if is_transduction(operator):
        return operator  # it makes an Observable, and as it is it can be fused

    def checked(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
        events = operator(source)
        if not isinstance(events, Observable):
            raise _unexpected(name_of(operator), events, "an Observable")
        return events

    return checked


def _operator_of(advisor: Advisor) -> Operator[ChatEvent, ChatEvent] | None:
    plain = advisor.advise if isinstance(advisor, Named) else advisor
    return plain.operator if isinstance(plain, _After) else None


def _fused(advisors: Iterable[Advisor]) -> Iterator[Advisor]:
    """The advisors, innermost first; neighbours that only rewrite events are one."""

    def only_rewrites(advisor: Advisor) -> bool:
        return _operator_of(advisor) is not None

    for can_fuse, group in groupby(reversed([*advisors]), key=only_rewrites):
        if can_fuse:
            yield _After(fuse(filter(None, map(_operator_of, group))))
        else:
            yield from group


def _unexpected(name: str, found: object, expected: str) -> AdvisorError:
    """Fail here, with a name, and not later in a neighbour."""
    return AdvisorError(name, f"returned {found!r} where {expected} was expected")
