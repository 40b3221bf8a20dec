"""Each check must find the fault that it is for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import reactivex
from reactivex import Observable, abc
from reactivex import operators as ops
from reactivex.disposable import Disposable

from rxagent.chain import after, before
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.messages import AssistantMessage
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.testing import (
    assert_advisor_laws,
    assert_cut_anywhere,
    assert_exchange_laws,
    assert_grammar,
)
from rxagent.types import Advisor, Exchange

END = Finished(response=ChatResponse(message=AssistantMessage.of("a")))
DELTA = TextDelta(text="a")


@pytest.mark.parametrize("events", [[], [DELTA], [END, DELTA], [END, END]])
def test_a_broken_grammar_is_found(events: list[ChatEvent]) -> None:
    with pytest.raises(AssertionError, match="expected one Finished"):
        assert_grammar(events)


def test_an_exchange_with_a_memory_of_its_own_is_found() -> None:
    count = 0

    def counts(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        nonlocal count
        count += 1
        answer: list[ChatEvent] = [TextDelta(text=str(count)), END]
        return requests.pipe(ops.concat_map(lambda _: reactivex.of(*answer)))

    def fresh(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        return reactivex.defer(lambda _: counts(requests))

    with pytest.raises(AssertionError, match="a second subscription gave other events"):
        assert_exchange_laws(fresh)


def _eager(inner: Exchange) -> Exchange:
    def advised(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        requests.pipe(inner).subscribe(on_error=lambda _: None)
        return requests.pipe(inner)

    return advised


def _leaky(inner: Exchange) -> Exchange:
    def advised(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            requests.pipe(inner).subscribe(observer, scheduler=scheduler)
            return Disposable()

        return Observable(subscribe)

    return advised


def _insistent(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
    """Ask again on dispose."""

    def ask_again() -> None:
        source.subscribe()

    return source.pipe(ops.finally_action(ask_again))


def _drops_unknown(event: ChatEvent) -> bool:
    return isinstance(event, TextDelta | Finished)


def _silent(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
    return source.pipe(ops.catch(lambda error, _: reactivex.empty()))


def _mixing() -> Advisor:
    last: list[str] = []

    def remember(request: ChatRequest) -> ChatRequest:
        last.append(request.origin.run_id)
        return request

    def stamp(event: ChatEvent) -> ChatEvent:
        if isinstance(event, TextDelta) and event.text.strip():
            return replace(event, text=last[-1])
        return event

    return lambda inner: before(remember)(after(ops.map(stamp))(inner))


def _never_ends(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
    return source.pipe(ops.filter(lambda event: not isinstance(event, Finished)))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: _eager, "before anybody subscribed"),
        (lambda: after(_never_ends), "expected one Finished"),
        (lambda: after(ops.filter(_drops_unknown)), "swallowed an event"),
        (lambda: after(_silent), "expected one Finished"),
        (lambda: _leaky, "left an inner stream open"),
        (lambda: after(_insistent), "asked the rest again"),
        (_mixing, "turns that ran at once differ"),
    ],
    ids=[
        "acts when built",
        "no end",
        "drops events",
        "hides errors",
        "leaks",
        "asks on",
        "mixes turns",
    ],
)
def test_a_broken_advisor_is_found(make: Callable[[], Advisor], says: str) -> None:
    with pytest.raises(AssertionError, match=says):
        assert_advisor_laws(make())


class _Forgetful:
    """Loses what straddles a cut."""

    def feed(self, item: str, /) -> list[str]:
        return item.split("ab")

    def flush(self) -> list[str]:
        return []


def test_a_transducer_that_minds_where_it_is_cut_is_found() -> None:
    with pytest.raises(AssertionError, match="cut into"):
        assert_cut_anywhere(_Forgetful, "xaby", aggregate="|".join)
