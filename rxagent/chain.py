"""Advisors, and the chain that they make: a fold.

An advisor is a function from an exchange (the rest of the chain) to an exchange.  The
list is the order: first is outermost, on the way in and on the way back, in every round
and retry.  ``inner`` is a cold function of its input, so calling it again is legal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import groupby

from reactivex import Observable

from rxagent.errors import AdvisorError, ConfigurationError
from rxagent.events import ChatEvent
from rxagent.named import Named, name_of
from rxagent.offered import OFFERS, Offers, telling_tools
from rxagent.operators import concat_each, fuse, just
from rxagent.operators._transduction import is_transduction
from rxagent.requests import ChatRequest
from rxagent.types import Advisor, Exchange, Operator

__all__ = ["after", "around", "before", "chain"]


def chain(advisors: Iterable[Advisor], model: Exchange) -> Exchange:
    """Fold advisors around a model, first one outermost.

    Args:
        advisors: Outermost first.
        model: The innermost exchange.

    Returns:
        The exchange that they make together.

    Raises:
        AdvisorError: If an advisor returns something that cannot be called.
        ConfigurationError: If the model or an advisor cannot be called, or an advisor
            that acts on the rounds of a tool loop has none to its left.
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
            raise _unexpected(name_of(advisor), outer, "an exchange (see after)")
        return outer

    advisors = tuple(_with_offers(tuple(advisors)))
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
        def rest(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
            if not isinstance(requests, Observable):
                raise AdvisorError(name, "must ask just(request).pipe(inner)")
            return inner(requests)

        def answer(request: ChatRequest) -> Observable[ChatEvent]:
            events = handle(request, rest)
            if not isinstance(events, Observable):
                raise _unexpected(name, events, "an Observable")
            return events

        return concat_each(answer)

    return advise


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


def _with_offers(advisors: Sequence[Advisor]) -> Iterator[Advisor]:
    """The advisors, with what a tool loop has to know of those right of it."""
    loops = [isinstance(each, Named) and each.owns_tools for each in advisors]
    for at, each in enumerate(advisors):
        if isinstance(each, Named) and not any(loops[:at]):
            _check_place(each, is_left_of_loop=any(loops[at + 1 :]))
        if loops[at]:
            right = [a for a in advisors[at + 1 :] if isinstance(a, Named)]
            offers = Offers(tuple(a.offer for a in right if a.offer is not None))
            if offers.operators:
                yield before(partial(_knowing, offers))
        yield each


def _check_place(advisor: Named, *, is_left_of_loop: bool) -> None:
    if advisor.needs_loop or (advisor.in_rounds and is_left_of_loop):
        raise ConfigurationError(
            f"{advisor.name} acts on the rounds of a tool loop, and there is none to "
            "its left; put it right of tool_loop()"
        )


def _knowing(offers: Offers, request: ChatRequest) -> ChatRequest:
    return replace(request, context=request.context.set(OFFERS, offers))


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
