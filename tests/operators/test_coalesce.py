from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable, Subject, abc, typing
from reactivex import operators as ops
from reactivex.scheduler import NewThreadScheduler
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    RoundFinished,
    TextDelta,
    ToolCallDelta,
)
from rxagent.messages import AssistantMessage
from rxagent.operators import coalesce, just
from rxagent.requests import Origin
from rxagent.responses import ChatResponse
from tests.marbles import emitted

S = TypeVar("S")

on_next, on_error, on_completed = (
    ReactiveTest.on_next,
    ReactiveTest.on_error,
    ReactiveTest.on_completed,
)
ADA, BOB = Origin(run_id="r", path=("ada",)), Origin(run_id="r", path=("bob",))
CALL = ToolCallDelta(index=0, name="weather")
ROUND = RoundFinished(response=ChatResponse(message=AssistantMessage.of("ab")))
END = Finished(response=ChatResponse(message=AssistantMessage.of("ab")))


def text(said: str, origin: Origin = ADA) -> TextDelta:
    return TextDelta(text=said, origin=origin)


def thought(said: str, origin: Origin = ADA) -> ReasoningDelta:
    return ReasoningDelta(text=said, origin=origin)


class CountingScheduler(TestScheduler):
    """Virtual time that counts the timers that were set, and those that ran out."""

    def __init__(self) -> None:
        super().__init__()
        self.timers = 0
        self.ran_out = 0

    def schedule_relative(
        self,
        duetime: typing.RelativeTime,
        action: typing.ScheduledAction[S],
        state: S | None = None,
    ) -> abc.DisposableBase:
        def run(
            scheduler: abc.SchedulerBase, state: S | None = None
        ) -> abc.DisposableBase | None:
            self.ran_out += 1
            return action(scheduler, state)

        self.timers += 1
        return super().schedule_relative(duetime, run, state)


def played(
    events: Sequence[tuple[int, ChatEvent]], end: Any, *, disposed: float = 1000
) -> tuple[list[Any], int]:
    """What comes, and the timers it took, of a source and ``coalesce(50)``."""
    scheduler = CountingScheduler()
    messages = [on_next(time, event) for time, event in events]
    source = scheduler.create_cold_observable(*messages, end)
    before = scheduler.timers  # the source sets some

    def create() -> Observable[ChatEvent]:
        return source.pipe(coalesce(50))

    found = scheduler.start(create, disposed=disposed).messages
    return found, scheduler.timers - before - len(messages) - 1


def test_the_first_delta_leaves_at_once_and_the_next_ones_once_a_window() -> None:
    found, _ = played([(10 * n, text(str(n))) for n in range(1, 10)], on_completed(95))

    assert found == [
        on_next(210, text("1")),
        on_next(260, text("23456")),
        on_next(295, text("789")),
        on_completed(295),
    ]


def test_a_slow_stream_is_not_held_up() -> None:
    found, _ = played([(100 * n, text(str(n))) for n in range(1, 5)], on_completed(410))

    assert emitted(found) == [(200 + 100 * n, text(str(n))) for n in range(1, 5)]


def test_there_is_at_most_one_timer_for_a_window_and_none_for_a_token() -> None:
    tokens = [(1 + n // 10, text("x")) for n in range(2_000)]  # windows: 201 / 50
    _, timers = played(tokens, on_completed(300))
    assert timers <= 5

    silence, timers = played([(10, END)], on_completed(10))
    assert (len(silence), timers) == (2, 0)


def test_any_other_event_goes_out_at_once_after_what_is_held() -> None:
    found, _ = played(
        [
            (10, text("a")),
            (11, text("b")),
            (12, CALL),
            (13, text("c")),
            (14, ROUND),
            (15, text("d")),
            (16, END),
        ],
        on_completed(16),
    )

    assert emitted(found) == [
        (210, text("a")),
        (212, text("b")),
        (212, CALL),
        (214, text("c")),
        (214, ROUND),
        (216, text("d")),
        (216, END),
    ]


def test_kinds_and_origins_are_not_mixed_and_keep_their_order() -> None:
    said: list[ChatEvent] = [
        text("go"),
        thought("h"),
        thought("m"),
        text("a"),
        text("b"),
        text("c", BOB),
        text("d", replace(BOB)),  # equal, if not the same
        text("e"),
    ]
    found, _ = played([(10 + n, each) for n, each in enumerate(said)], on_completed(90))
    events = [event for _, event in emitted(found)]

    assert events == [text("go"), thought("hm"), text("ab"), text("cd"), text("e")]
    assert [event.origin for event in events] == [ADA, ADA, ADA, BOB, ADA]
    assert {time for time, _ in emitted(found)[1:]} == {260}


def test_an_error_drops_nothing_that_was_received() -> None:
    broken = OSError("broken")
    found, _ = played([(10, text("a")), (20, text("b"))], on_error(30, broken))

    assert found == [
        on_next(210, text("a")),
        on_next(230, text("b")),
        on_error(230, broken),
    ]


def test_disposing_drops_what_is_held_and_the_timer() -> None:
    scheduler = CountingScheduler()
    subject: Subject[ChatEvent] = Subject()
    seen: list[ChatEvent] = []
    subscription = subject.pipe(coalesce(50)).subscribe(
        seen.append, scheduler=scheduler
    )
    subject.on_next(text("a"))
    subject.on_next(text("b"))
    subscription.dispose()
    scheduler.start()

    assert seen == [text("a")]
    assert (scheduler.timers, scheduler.ran_out) == (1, 0)
    assert not subject.observers


def test_leaving_at_the_first_delta_leaves_no_timer() -> None:
    scheduler = CountingScheduler()
    seen: list[ChatEvent] = []
    source = just(text("a"), text("b"))
    source.pipe(coalesce(50), ops.take(1)).subscribe(seen.append, scheduler=scheduler)
    scheduler.start()

    assert (seen, scheduler.ran_out) == ([text("a")], 0)


def test_two_subscriptions_share_nothing() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(
        on_next(10, text("a")), on_next(20, text("b")), on_completed(30)
    )
    merged = source.pipe(coalesce(50))
    seen: tuple[list[ChatEvent], list[ChatEvent]] = ([], [])
    for each in seen:
        merged.subscribe(each.append, scheduler=scheduler)
    scheduler.start()

    assert seen == ([text("a"), text("b")],) * 2


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_window_has_a_length(seconds: float) -> None:
    with pytest.raises(ValueError, match="more than 0"):
        coalesce(seconds)


def test_without_a_scheduler_the_running_loop_is_the_clock() -> None:
    async def scenario() -> list[ChatEvent]:
        subject: Subject[ChatEvent] = Subject()
        seen: list[ChatEvent] = []
        second = asyncio.Event()

        def see(event: ChatEvent) -> None:
            seen.append(event)
            if len(seen) == 2:
                second.set()

        with subject.pipe(coalesce(0.001)).subscribe(see):
            for letter in "abc":
                subject.on_next(text(letter))
            await asyncio.wait_for(second.wait(), 10)
        return seen

    assert asyncio.run(scenario(), debug=True) == [text("a"), text("bc")]


def test_without_any_clock_every_delta_leaves_as_it_comes() -> None:
    seen: list[ChatEvent] = []
    subject: Subject[ChatEvent] = Subject()
    subject.pipe(coalesce(50)).subscribe(seen.append)
    for letter in "abc":
        subject.on_next(text(letter))

    assert seen == [text("a"), text("b"), text("c")]


@contextmanager
def switching_often() -> Generator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def test_a_timer_on_another_thread_loses_and_swaps_nothing() -> None:
    seen: list[ChatEvent] = []
    done = threading.Event()
    sent = [CALL if n % 100 == 99 else text(f"{n} ") for n in range(5_000)]

    with switching_often():
        just(*sent).pipe(coalesce(1e-6)).subscribe(
            seen.append, on_completed=done.set, scheduler=NewThreadScheduler()
        )
        assert done.wait(10)

    assert merged_whole(seen) == merged_whole(sent)


def test_a_timer_on_another_thread_never_leaves_a_delta_behind() -> None:
    """The last delta of a burst has nothing after it that would flush it."""
    subject: Subject[ChatEvent] = Subject()
    arrived = threading.Semaphore(0)

    def see(event: ChatEvent) -> None:
        assert isinstance(event, TextDelta)
        arrived.release(len(event.text))

    merged = subject.pipe(coalesce(1e-6))
    with switching_often(), merged.subscribe(see, scheduler=NewThreadScheduler()):
        for _ in range(300):
            for _ in range(10):
                subject.on_next(text("x"))
            assert all(arrived.acquire(timeout=10) for _ in range(10))


def merged_whole(events: Sequence[ChatEvent]) -> list[object]:
    """Every run of deltas of one kind and origin as one text: what must not change."""

    def kind(event: ChatEvent) -> object:
        if isinstance(event, TextDelta | ReasoningDelta):
            return (type(event), event.origin)
        return event

    runs: list[object] = []
    for key, group in groupby(events, kind):
        members = [*group]
        said = [e.text for e in members if isinstance(e, TextDelta | ReasoningDelta)]
        runs.extend([(key, "".join(said))] if said else members)
    return runs


EVENTS = st.one_of(
    st.builds(TextDelta, text=st.text(max_size=3), origin=st.sampled_from([ADA, BOB])),
    st.builds(ReasoningDelta, text=st.text(max_size=3), origin=st.just(ADA)),
    st.sampled_from([CALL, ROUND]),
)
GAPS = st.integers(min_value=0, max_value=120)


@given(steps=st.lists(st.tuples(GAPS, EVENTS), max_size=30), fails=st.booleans())
def test_text_and_order_are_unchanged_and_nothing_waits_longer_than_a_window(
    steps: list[tuple[int, ChatEvent]], fails: bool
) -> None:
    now, timeline = 1, list[tuple[int, ChatEvent]]()
    for gap, event in steps:
        now += gap
        timeline.append((now, event))
    broken = OSError("broken")
    end = on_error(now, broken) if fails else on_completed(now)
    found, timers = played(timeline, end, disposed=1e6)

    assert merged_whole([event for _, event in emitted(found)]) == merged_whole(
        [event for _, event in timeline]
    )
    assert found[-1] == (on_error if fails else on_completed)(
        200 + now, *([broken] if fails else [])
    )
    # The n-th character comes at most a window after it was sent, and never before.
    for came, sent in zip(
        characters([(time - 200, event) for time, event in emitted(found)]),
        characters(timeline),
        strict=True,
    ):
        assert sent <= came <= sent + 50
    assert timers <= 1 + now // 50


def characters(timeline: Sequence[tuple[float, ChatEvent]]) -> list[float]:
    return [
        time
        for time, event in timeline
        if isinstance(event, TextDelta | ReasoningDelta)
        for _ in event.text
    ]
