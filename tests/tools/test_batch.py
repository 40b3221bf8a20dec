from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing

import pytest
import reactivex
from reactivex import Observable, abc
from reactivex import operators as ops
from reactivex.disposable import Disposable
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.errors import ToolError
from rxagent.events import ToolFinished, ToolStarted
from rxagent.messages import ToolCall
from rxagent.operators import just
from rxagent.requests import ToolSpec
from rxagent.runtime import block, iterate
from rxagent.tools import (
    CallSettings,
    ToolContext,
    ToolEvent,
    concurrent,
    run_batch,
    tool,
    tool_index,
)
from tests.tools.scene import (
    CONTEXT,
    ORIGIN,
    calling,
    failed,
    finished,
    progress,
    refused,
    started,
)

on_next, on_completed = ReactiveTest.on_next, ReactiveTest.on_completed
on_error, subscribe = ReactiveTest.on_error, ReactiveTest.subscribe

PATIENCE_S = 10.0


def batch(
    calls: Sequence[ToolCall],
    *tools: ToolSpec,
    max_concurrency: int = 8,
    max_result_chars: int | None = None,
) -> Observable[ToolEvent]:
    return run_batch(
        calls,
        tool_index(tools),
        context=CONTEXT,
        origin=ORIGIN,
        executor=concurrent(max_concurrency=max_concurrency),
        settings=CallSettings(max_result_chars=max_result_chars),
    )


@tool
def now(text: str) -> Observable[str]:
    return just(text)


def saying(text: str, *, id: str = "1") -> ToolCall:  # noqa: A002
    return calling("now", f'{{"text":"{text}"}}', id=id)


def heard(source: Observable[ToolEvent]) -> list[ToolEvent]:
    events: list[ToolEvent] = []
    done: list[str] = []
    source.subscribe(
        events.append,
        lambda error: done.append(repr(error)),
        lambda: done.append("completed"),
    )
    assert done == ["completed"]
    return events


def test_a_batch_without_calls_completes_at_once() -> None:
    """S000-28."""
    assert heard(batch([], now)) == []


def test_a_batch_of_one_call_is_that_call() -> None:
    """S000-28."""
    call = saying("a")

    assert heard(batch([call], now)) == [
        started(call),
        progress(call, "a"),
        finished(call, "a", value="a"),
    ]


def test_calls_run_at_the_same_time_and_events_come_as_they_happen() -> None:
    """S000-21, S000-36."""
    scheduler = TestScheduler()
    slow = scheduler.create_cold_observable(on_next(80, "S"), on_completed(100))
    fast = scheduler.create_cold_observable(on_next(10, "F"), on_completed(20))

    @tool
    def slowly() -> Observable[str]:
        return slow

    @tool
    def fastly() -> Observable[str]:
        return fast

    first, second = calling("slowly", id="1"), calling("fastly", id="2")

    got = scheduler.start(lambda: batch([first, second], slowly, fastly))

    assert got.messages == [
        on_next(200, started(first)),
        on_next(200, started(second)),
        on_next(210, progress(second, "F")),
        on_next(220, finished(second, "F", value="F")),
        on_next(280, progress(first, "S")),
        on_next(300, finished(first, "S", value="S")),
        on_completed(300),
    ]
    assert slow.subscriptions == [subscribe(200, 300)]
    assert fast.subscriptions == [subscribe(200, 220)]


def test_a_call_that_fails_keeps_its_siblings() -> None:
    """S000-29, S000-30, case loop-tool-raises-siblings-kept."""
    scheduler = TestScheduler()

    @tool
    def slow() -> Observable[int]:
        return reactivex.timer(80.0)

    @tool
    def boom() -> Observable[int]:
        raise ValueError("disk full")

    calls = [
        calling("slow", id="1"),
        calling("boom", id="2"),
        calling("nope", id="3"),
        calling("slow", '{"x":1}', id="4"),
    ]

    got = scheduler.start(lambda: batch(calls, slow, boom))

    unfit = "the arguments do not fit 'slow', so it did not run:"
    unknown = "- x: there is no such parameter; it takes none"
    assert got.messages == [
        on_next(200, started(calls[0])),
        on_next(200, started(calls[1])),
        on_next(200, failed(calls[1], "ValueError: disk full")),
        on_next(
            200, refused(calls[2], "there is no tool 'nope'; the tools are: slow, boom")
        ),
        on_next(200, refused(calls[3], f"{unfit}\n{unknown}")),
        on_next(280, progress(calls[0], 0)),
        on_next(280, finished(calls[0], "0", value=0)),
        on_completed(280),
    ]


def test_no_more_than_the_bound_run_and_the_rest_starts_in_order() -> None:
    """S000-24."""
    scheduler = TestScheduler()
    sources = {
        str(at): scheduler.create_cold_observable(on_next(1, at), on_completed(length))
        for at, length in enumerate([100, 30, 30, 30, 30])
    }

    @tool
    def source(ctx: ToolContext) -> Observable[int]:
        return sources[ctx.call.id]

    calls = [calling("source", id=key) for key in sources]

    got = scheduler.start(lambda: batch(calls, source, max_concurrency=2))

    assert [each.subscriptions for each in sources.values()] == [
        [subscribe(200, 300)],
        [subscribe(200, 230)],
        [subscribe(230, 260)],
        [subscribe(260, 290)],
        [subscribe(290, 320)],
    ]
    assert got.messages[-1] == on_completed(320)


def test_three_tools_of_one_second_take_one_second() -> None:
    scheduler = TestScheduler()

    @tool
    def second() -> Observable[int]:
        return reactivex.timer(100.0)

    calls = [calling("second", id=str(at)) for at in range(3)]

    together = scheduler.start(lambda: batch(calls, second))
    assert together.messages[-1] == on_completed(300)

    alone = TestScheduler().start(lambda: batch(calls, second, max_concurrency=1))
    assert alone.messages[-1] == on_completed(500)


def test_disposing_cancels_what_runs_and_starts_nothing() -> None:
    scheduler = TestScheduler()
    sources = [
        scheduler.create_cold_observable(on_next(10, "a"), on_completed(500)),
        scheduler.create_cold_observable(on_completed(60)),
        scheduler.create_cold_observable(on_completed(500)),
        scheduler.create_cold_observable(on_completed(500)),
    ]
    asked: list[str] = []

    @tool
    def source(ctx: ToolContext) -> Observable[str]:
        asked.append(ctx.call.id)
        return sources[int(ctx.call.id)]

    calls = [calling("source", id=str(at)) for at in range(4)]

    got = scheduler.start(lambda: batch(calls, source, max_concurrency=2), disposed=300)

    assert [each.subscriptions for each in sources] == [
        [subscribe(200, 300)],
        [subscribe(200, 260)],
        [subscribe(260, 300)],
        [],
    ]
    assert asked == ["0", "1", "2"]
    assert all(message.time < 300 for message in got.messages)


@pytest.mark.parametrize("count", range(8))
def test_leaving_at_any_event_starts_nothing_afterwards(count: int) -> None:
    asked: list[str] = []

    @tool
    def quick(ctx: ToolContext) -> Observable[str]:
        asked.append(ctx.call.id)
        return just(ctx.call.id)

    calls = [calling("quick", id=str(at)) for at in range(3)]
    source = batch(calls, quick, max_concurrency=1).pipe(ops.take(count))

    events = heard(source)

    # Three events a call: it starts, reports, finishes.
    assert len(events) == count
    assert len(asked) == (count + 1) // 3


def test_an_error_ends_the_batch_cancels_the_others_and_starts_no_more() -> None:
    scheduler = TestScheduler()
    slow = scheduler.create_cold_observable(on_completed(500))
    fatal = ToolError("fatal", "must not be seen")
    failing = scheduler.create_cold_observable(on_error(50, fatal))
    never = scheduler.create_cold_observable(on_completed(1))
    sources = {"1": slow, "2": failing, "3": never}

    @tool
    def source(ctx: ToolContext) -> Observable[int]:
        return sources[ctx.call.id]

    calls = [calling("source", id=key) for key in sources]

    got = scheduler.start(lambda: batch(calls, source, max_concurrency=2))

    assert got.messages[-1] == on_error(250, fatal)
    assert slow.subscriptions == [subscribe(200, 250)]
    assert never.subscriptions == []


def test_a_caller_that_gives_only_declared_tools_gets_an_error() -> None:
    declared = ToolSpec(name="open", description="", parameters={"type": "object"})
    errors: list[Exception] = []

    batch([saying("a"), calling("open")], now, declared).subscribe(
        lambda _: None, errors.append
    )

    assert [type(error) for error in errors] == [ToolError]


def test_two_subscriptions_share_nothing() -> None:
    source = batch([saying("a", id="1"), saying("b", id="2")], now)

    assert heard(source) == heard(source)


def test_a_thousand_synchronous_calls_cost_no_stack() -> None:
    depths: set[int] = set()

    @tool
    def deep() -> Observable[int]:
        frame, depth = sys._getframe(), 0
        while frame.f_back is not None:
            frame, depth = frame.f_back, depth + 1
        depths.add(depth)
        return just(depth)

    calls = [calling("deep", id=str(at)) for at in range(1_000)]

    for max_concurrency in (1, 8, 1_000):
        depths.clear()
        events = heard(batch(calls, deep, max_concurrency=max_concurrency))
        assert len(events) == 3_000
        assert len(depths) == 1


@pytest.mark.parametrize("bound", [0, -1])
def test_a_bound_below_one_is_refused_at_the_call(bound: int) -> None:
    with pytest.raises(ValueError, match="max_concurrency must be 1 or more"):
        batch([], now, max_concurrency=bound)


def test_the_limit_on_results_is_for_every_call() -> None:
    calls = [saying("x" * 1_000, id="1"), saying("y" * 1_000, id="2")]

    events = heard(batch(calls, now, max_result_chars=150))

    ends = [event for event in events if isinstance(event, ToolFinished)]
    assert [len(event.message.text) <= 150 for event in ends] == [True, True]


def test_kinds_of_tools_mix_and_results_belong_to_their_calls() -> None:
    """M-15."""

    @tool
    def plain(text: str) -> str:
        return text

    @tool
    async def later(text: str) -> str:
        return text

    @tool
    def steps(text: str) -> Iterator[str]:
        yield text

    tools = (now, plain, later, steps)
    calls = [
        calling(each.name, f'{{"text":"{at}"}}', id=str(at))
        for at, each in enumerate(tools * 5)
    ]

    events = list(block(batch(calls, *tools, max_concurrency=3)))

    ends = [event for event in events if isinstance(event, ToolFinished)]
    begun = [event.call.id for event in events if isinstance(event, ToolStarted)]
    assert {event.call.id: event.value for event in ends} == {
        call.id: call.id for call in calls
    }
    assert len(ends) == len(calls)
    assert begun == [call.id for call in calls]
    for call in calls:
        mine = [type(event) for event in events if event.call is call]
        assert mine[0] is ToolStarted
        assert mine[-1] is ToolFinished


def test_without_an_executor_the_calls_of_a_batch_run_at_once() -> None:
    """D-18, M-23."""
    both = threading.Barrier(2)

    @tool
    def meet() -> str:
        both.wait(PATIENCE_S)
        return "met"

    calls = [calling("meet", id=id_) for id_ in "ab"]
    source = run_batch(calls, tool_index([meet]), context=CONTEXT, origin=ORIGIN)

    assert [e.value for e in block(source) if isinstance(e, ToolFinished)] == [
        "met"
    ] * 2


def test_async_tools_of_a_batch_wait_for_each_other() -> None:
    async def main() -> list[ToolEvent]:
        both = asyncio.Barrier(2)

        @tool
        async def meet(name: str) -> str:
            async with asyncio.timeout(PATIENCE_S):
                await both.wait()
            return name

        calls = [calling("meet", f'{{"name":"{id_}"}}', id=id_) for id_ in "ab"]
        async with aclosing(iterate(batch(calls, meet))) as events:
            return [event async for event in events]

    values = [
        event.value for event in asyncio.run(main()) if isinstance(event, ToolFinished)
    ]
    assert sorted(map(str, values)) == ["a", "b"]


def test_plain_tools_of_a_batch_run_in_parallel_threads() -> None:
    both = threading.Barrier(2)

    @tool
    def meet() -> str:
        both.wait(PATIENCE_S)
        return "met"

    events = list(block(batch([calling("meet", id=id_) for id_ in "ab"], meet)))

    ends = [event for event in events if isinstance(event, ToolFinished)]
    assert [event.value for event in ends] == ["met", "met"]


def test_disposing_a_batch_cancels_its_async_tools() -> None:
    trail: list[str] = []

    async def main() -> None:
        ready, left = asyncio.Barrier(3), asyncio.Event()

        @tool
        async def sleepy(ctx: ToolContext) -> None:
            trail.append(f"start {ctx.call.id}")
            try:
                await ready.wait()
                await asyncio.Event().wait()
            finally:
                trail.append(f"end {ctx.call.id}")
                if len(trail) == 4:
                    left.set()

        calls = [calling("sleepy", id=str(at)) for at in range(3)]
        subscription = batch(calls, sleepy, max_concurrency=2).subscribe(
            lambda _: None, on_error=lambda error: trail.append(repr(error))
        )
        async with asyncio.timeout(PATIENCE_S):
            await ready.wait()
            subscription.dispose()
            await left.wait()

    asyncio.run(main())

    assert trail == ["start 0", "start 1", "end 0", "end 1"]


user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


@pytest.mark.parametrize("kind", ["async", "observable"])
def test_a_queued_call_does_not_see_what_an_earlier_one_set(kind: str) -> None:
    @tool
    async def later() -> str:
        before = user.get()
        user.set("changed")
        return before

    @tool
    def observed() -> Observable[str]:
        before = user.get()
        user.set("changed")
        return just(before)

    def as_eva() -> list[ToolEvent]:
        user.set("eva")
        name = {"async": "later", "observable": "observed"}[kind]
        calls = [calling(name, id=str(at)) for at in range(4)]
        return list(block(batch(calls, later, observed, max_concurrency=1)))

    events = contextvars.copy_context().run(as_eva)

    values = [event.value for event in events if isinstance(event, ToolFinished)]
    assert values == ["eva"] * 4


def test_tools_that_emit_on_threads_of_their_own_are_heard_one_at_a_time() -> None:
    inside: list[ToolCall] = []
    overlaps: list[ToolCall] = []
    arrived = threading.Event()
    threads: list[threading.Thread] = []

    def emitting(before: Callable[[], object]) -> Observable[int]:
        def subscribe(
            observer: abc.ObserverBase[int], _: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            def emit() -> None:
                before()
                observer.on_next(1)
                observer.on_completed()

            threads.append(threading.Thread(target=emit))
            return Disposable()

        return Observable(subscribe)

    entered = threading.Event()

    @tool
    def first() -> Observable[int]:
        return emitting(lambda: None)

    @tool
    def second() -> Observable[int]:
        def wait_for_the_first() -> None:
            assert entered.wait(PATIENCE_S)
            arrived.set()

        return emitting(wait_for_the_first)

    done = threading.Event()

    def hear(event: ToolEvent) -> None:
        overlaps.extend(inside)
        inside.append(event.call)
        if event == progress(calling("first"), 1):
            entered.set()
            assert arrived.wait(PATIENCE_S)
            done.wait(0.05)  # what the second would need to get in
        inside.pop()

    calls = [calling("first"), calling("second")]
    batch(calls, first, second).subscribe(
        hear, on_error=lambda _: None, on_completed=done.set
    )
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)

    assert done.is_set()
    assert overlaps == []


def test_a_call_that_is_refused_takes_its_place_in_the_queue() -> None:
    calls = [calling("nope", id="1"), saying("a", id="2"), calling("nope", id="3")]

    events = heard(batch(calls, now, max_concurrency=1))

    said = "there is no tool 'nope'; the tools are: now"
    assert events == [
        refused(calls[0], said),
        started(calls[1]),
        progress(calls[1], "a"),
        finished(calls[1], "a", value="a"),
        refused(calls[2], said),
    ]
