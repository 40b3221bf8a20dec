from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.context import Key, Write
from rxagent.errors import ToolError, ToolFailedError
from rxagent.events import ToolFinished, ToolProgress, ToolStarted
from rxagent.runtime import block, iterate
from rxagent.tools import (
    CallSettings,
    Executor,
    Job,
    Outcome,
    ToolContext,
    ToolEvent,
    concurrent,
    run_batch,
    run_call,
    tool,
    tool_index,
)
from rxagent.tools.tool import AnyTool
from tests.marbles import emitted
from tests.tools.scene import (
    CONTEXT,
    ORIGIN,
    answer,
    batch_on,
    calling,
    ends,
    failed,
    finished,
    progress,
    refused,
    started,
)
from tests.virtual_loop import run_virtual

on_next, on_completed = ReactiveTest.on_next, ReactiveTest.on_completed
subscribe = ReactiveTest.subscribe

CALL = calling("it")
PATIENCE_S = 10.0
DONE = Key("done", int)


def no_result(seconds: float) -> str:
    return (
        f"TimeoutError: no result after {seconds:g} s; nobody waits for it any more, "
        "though it may still have its effect"
    )


def timed_out(seconds: float, *, attempts: int = 1) -> ToolFinished:
    return failed(CALL, no_result(seconds), kind="transient", attempts=attempts)


def timer(length: float, **rules: Any) -> AnyTool:
    """A tool whose body takes so many virtual seconds."""

    @tool(name="it", **rules)
    def it() -> Observable[int]:
        return reactivex.timer(length)

    return it


async def gathered(source: Observable[ToolEvent]) -> list[ToolEvent]:
    async with aclosing(iterate(source)) as events:
        return [event async for event in events]


@pytest.mark.parametrize(
    ("own", "callers", "executors", "longest"),
    [
        (None, None, 30, 30),
        (None, 50, 30, 50),
        (70, 50, 30, 70),
        (10, 50, 30, 10),
        (10, None, None, 10),
        (None, 50, None, 50),
    ],
)
def test_the_timeout_is_the_tools_else_the_callers_else_the_executors(
    own: int | None, callers: int | None, executors: int | None, longest: int
) -> None:
    """S000-33, D-19."""
    source = batch_on(
        concurrent(timeout_s=executors),
        [CALL],
        timer(100.0, timeout_s=own),
        settings=CallSettings(timeout_s=callers),
    )

    got = TestScheduler().start(lambda: source)

    assert got.messages == [
        on_next(200, started(CALL)),
        on_next(200 + longest, timed_out(longest)),
        on_completed(200 + longest),
    ]


def test_without_a_timeout_nothing_times_out() -> None:
    """S000-33."""
    scheduler = TestScheduler()

    got = scheduler.start(
        lambda: batch_on(concurrent(), [CALL], timer(10_000.0)), disposed=20_000
    )

    assert got.messages[-1] == on_completed(10_200)


def test_a_tool_in_time_is_not_touched_by_its_clock() -> None:
    scheduler = TestScheduler()

    got = scheduler.start(lambda: answer(CALL, timer(99.0, timeout_s=100)))

    assert got.messages[1:] == [
        on_next(299, progress(CALL, 0)),
        on_next(299, finished(CALL, "0", value=0)),
        on_completed(299),
    ]
    assert scheduler.clock > 300  # the clock's time has come, and nothing came of it
    assert len(got.messages) == 4


def test_a_timeout_unsubscribes_the_body() -> None:
    scheduler = TestScheduler()
    body = scheduler.create_cold_observable(on_next(10, "a"), on_next(90, "b"))

    @tool(name="it", timeout_s=50)
    def it() -> Observable[str]:
        return body

    got = scheduler.start(lambda: answer(CALL, it))

    assert got.messages == [
        on_next(200, started(CALL)),
        on_next(210, progress(CALL, "a")),
        on_next(250, timed_out(50)),
        on_completed(250),
    ]
    assert body.subscriptions == [subscribe(200, 250)]


def test_a_slow_tool_times_out_alone() -> None:
    """M-32, M-33."""

    @tool(timeout_s=50)
    def slow() -> Observable[int]:
        return reactivex.timer(1_000.0)

    @tool
    def quick() -> Observable[int]:
        return reactivex.timer(80.0)

    calls = [calling("slow", id="1"), calling("quick", id="2")]

    got = TestScheduler().start(lambda: batch_on(concurrent(), calls, slow, quick))

    assert got.messages[2:] == [
        on_next(250, failed(calls[0], no_result(50), kind="transient")),
        on_next(280, progress(calls[1], 0)),
        on_next(280, finished(calls[1], "0", value=0)),
        on_completed(280),
    ]


def test_only_the_body_is_timed_not_the_wait_for_its_turn() -> None:
    """M-29."""
    calls = [calling("it", id=str(at)) for at in range(3)]

    got = TestScheduler().start(
        lambda: batch_on(
            concurrent(max_concurrency=1, timeout_s=100), calls, timer(90.0)
        )
    )

    assert got.messages[-1] == on_completed(470)
    failures = [
        end.failure for end in ends(event for _, event in emitted(got.messages))
    ]
    assert failures == [None, None, None]


@pytest.mark.parametrize("kind", ["async", "async generator"])
def test_async_code_that_takes_too_long_is_cancelled(kind: str) -> None:
    """S000-33, M-31."""
    trail: list[str] = []

    async def sleep() -> None:
        try:
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            trail.append("cancelled")
            raise

    @tool(name="it", timeout_s=5)
    async def coroutine() -> str:
        await sleep()
        return "never"

    @tool(name="it", timeout_s=5)
    async def generator() -> Any:
        yield "a"
        await sleep()

    it = coroutine if kind == "async" else generator
    events, took_s = run_virtual(gathered(answer(CALL, it)))

    assert events[-1] == timed_out(5)
    assert trail == ["cancelled"]
    assert took_s == pytest.approx(5)


@pytest.mark.parametrize("kind", ["plain", "generator"])
def test_a_thread_that_takes_too_long_is_abandoned_and_may_still_have_its_effect(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """M-28, M-31."""
    go, runs_in = threading.Event(), SimpleQueue[threading.Thread]()
    effects: list[str] = []

    def work() -> str:
        runs_in.put(threading.current_thread())
        assert go.wait(PATIENCE_S)
        effects.append("landed")
        return "too late"

    @tool(name="it", timeout_s=5)
    def plain() -> str:
        return work()

    @tool(name="it", timeout_s=5)
    def generator() -> Iterator[str]:
        yield work()

    it = plain if kind == "plain" else generator
    with caplog.at_level(logging.INFO, logger="rxagent.tools"):
        events, took_s = run_virtual(gathered(answer(CALL, it)))

    assert events == [started(CALL), timed_out(5)]
    assert took_s == pytest.approx(5)
    assert effects == []
    assert ["goes on" in record.message for record in caplog.records] == [True]
    go.set()
    runs_in.get(timeout=PATIENCE_S).join(PATIENCE_S)
    assert effects == ["landed"]


def second(**rules: Any) -> AnyTool:
    @tool(name="it", **rules)
    async def it() -> int:
        await asyncio.sleep(1)
        return 1

    return it


@pytest.mark.parametrize(
    ("rules", "executor", "expected_s"),
    [
        ({}, concurrent(), 1),
        ({"serial": True}, concurrent(), 3),
        ({}, concurrent(max_concurrency=2), 2),
    ],
)
def test_three_async_tools_of_one_second_take_one(
    rules: dict[str, bool], executor: Executor, expected_s: float
) -> None:
    """S000-27."""
    calls = [calling("it", id=str(at)) for at in range(3)]

    events, took_s = run_virtual(gathered(batch_on(executor, calls, second(**rules))))

    assert [end.value for end in ends(events)] == [1, 1, 1]
    assert took_s == pytest.approx(expected_s)


def failing(*errors: Exception, **rules: Any) -> tuple[AnyTool, list[float]]:
    """A tool that raises these, one at each attempt, then succeeds; and its starts."""
    left, starts = list(errors), list[float]()

    @tool(name="it", **rules)
    async def it() -> str:
        starts.append(asyncio.get_running_loop().time())
        if left:
            raise left.pop(0)
        return "done"

    return it, starts


def outcome(it: AnyTool, settings: CallSettings | None = None) -> ToolFinished:
    events, _ = run_virtual(gathered(answer(CALL, it, settings=settings)))
    kinds = [type(event) for event in events]
    assert kinds == [ToolStarted, ToolFinished]
    return ends(events)[0]


def test_a_transient_failure_is_repeated_after_a_delay_that_doubles() -> None:
    """S000-31, M-18."""
    gone = ConnectionError("gone")
    it, starts = failing(gone, gone, gone, retries=3)

    assert outcome(it) == finished(CALL, "done", value="done", attempts=4)
    assert starts == pytest.approx([0, 0.2, 0.6, 1.4])


def test_after_so_many_repetitions_the_failure_is_the_result() -> None:
    """S000-31, M-18."""
    errors = [ConnectionError(str(at)) for at in range(5)]
    it, starts = failing(*errors, retries=2, retry_delay_s=1)

    assert outcome(it) == failed(
        CALL, "ConnectionError: 2", kind="transient", attempts=3
    )
    assert starts == pytest.approx([0, 1, 3])


@pytest.mark.parametrize(
    ("error", "retries", "end"),
    [
        (
            ConnectionError("gone"),
            0,
            failed(CALL, "ConnectionError: gone", kind="transient"),
        ),
        (ValueError("bad"), 5, failed(CALL, "ValueError: bad")),
        (
            ToolFailedError("no key", kind="environment"),
            5,
            failed(CALL, "ToolFailedError: no key", kind="environment"),
        ),
    ],
    ids=["not declared", "semantic", "environment"],
)
def test_nothing_else_is_repeated(
    error: Exception, retries: int, end: ToolFinished
) -> None:
    """S000-31."""
    it, starts = failing(error, error, retries=retries)

    assert outcome(it) == end
    assert len(starts) == 1


def test_what_is_transient_is_the_callers_to_say() -> None:
    it, starts = failing(ValueError("busy"), retries=1)

    end = outcome(it, CallSettings(failures={ValueError: "transient"}))

    assert end == finished(CALL, "done", value="done", attempts=2)
    assert len(starts) == 2


def test_what_is_not_for_the_model_is_raised_as_it_is_and_not_repeated() -> None:
    error = ConnectionError("gone")
    it, starts = failing(error, error, retries=3)

    with pytest.raises(ConnectionError) as caught:
        outcome(it, CallSettings(raises=(OSError,)))
    assert caught.value is error
    assert len(starts) == 1


def test_a_timeout_is_transient_and_each_attempt_has_a_clock_of_its_own() -> None:
    """M-30."""
    scheduler = TestScheduler()
    lengths = iter([500.0, 500.0, 20.0])
    starts: list[float] = []

    @tool(name="it", timeout_s=100, retries=2, retry_delay_s=10)
    def it() -> Observable[int]:
        starts.append(scheduler.clock)
        return reactivex.timer(next(lengths))

    got = scheduler.start(lambda: answer(CALL, it))

    assert starts == [200, 310, 430]
    assert got.messages == [
        on_next(200, started(CALL)),
        on_next(450, progress(CALL, 0)),
        on_next(450, finished(CALL, "0", value=0, attempts=3)),
        on_completed(450),
    ]


def test_a_repetition_while_the_first_run_still_goes_on_takes_nothing_from_it() -> None:
    """M-14, M-30."""
    jobs: list[Job] = []

    async def submit(job: Job, began: Callable[[], None] | None) -> Outcome:
        jobs.append(job)
        assert began is not None
        began()
        if len(jobs) == 1:
            await asyncio.Event().wait()
        jobs[0]()  # as in a thread: it ends, and nobody waits for it
        return job()

    @tool(name="it", timeout_s=5, retries=1)
    def it(seen: ToolContext) -> int:
        seen.set(DONE, 7)
        seen.report("reported")
        return 7

    source = run_call(
        CALL, tool_index([it]), context=CONTEXT, origin=ORIGIN, submit=submit
    )
    events, _ = run_virtual(gathered(source))

    first, last = (job.arguments["seen"] for job in jobs)
    assert isinstance(first, ToolContext)
    assert isinstance(last, ToolContext)
    assert first.writes == last.writes == [Write(DONE, 7)]
    assert first.writes is not last.writes
    assert events[1:] == [
        progress(CALL, "reported"),
        replace(finished(CALL, "7", value=7, attempts=2), writes=(Write(DONE, 7),)),
    ]


def test_leaving_while_a_repetition_is_waited_for_starts_nothing() -> None:
    scheduler = TestScheduler()
    starts: list[float] = []

    @tool(name="it", retries=3, retry_delay_s=100)
    def it() -> Observable[int]:
        starts.append(scheduler.clock)
        return reactivex.throw(ConnectionError("gone"))

    got = scheduler.start(lambda: answer(CALL, it), disposed=250)
    scheduler.advance_to(2_000.0)

    assert starts == [200]
    assert got.messages == [on_next(200, started(CALL))]


def test_a_started_tool_is_told_once_however_often_it_runs() -> None:
    it, _ = failing(ConnectionError(), ConnectionError(), retries=2)

    events, _ = run_virtual(gathered(answer(CALL, it)))

    assert [type(event) for event in events] == [ToolStarted, ToolFinished]


def until(seconds: float, scheduler: TestScheduler) -> CallSettings:
    """Settings whose deadline is so many virtual seconds after the subscription."""
    start = scheduler.to_datetime(200.0)
    return CallSettings(deadline=start + timedelta(seconds=seconds))


def test_the_deadline_is_the_longest_time_there_is() -> None:
    for own, took in ((None, 60), (500, 60), (20, 20)):
        scheduler = TestScheduler()
        settings = until(60, scheduler)
        it = timer(1_000.0, timeout_s=own)

        got = scheduler.start(partial(answer, CALL, it, settings=settings))

        assert got.messages[1:] == [
            on_next(200 + took, timed_out(took)),
            on_completed(200 + took),
        ]


def test_the_deadline_is_the_same_for_all_attempts() -> None:
    scheduler = TestScheduler()
    settings = until(60, scheduler)
    it = timer(1_000.0, timeout_s=40, retries=5, retry_delay_s=5)

    got = scheduler.start(lambda: answer(CALL, it, settings=settings))

    assert got.messages[1:] == [
        on_next(260, timed_out(15, attempts=2)),
        on_completed(260),
    ]


def test_nothing_is_repeated_that_could_not_begin_before_the_deadline() -> None:
    scheduler = TestScheduler()
    settings = until(60, scheduler)
    it = timer(1_000.0, timeout_s=40, retries=5, retry_delay_s=20)

    got = scheduler.start(lambda: answer(CALL, it, settings=settings))

    assert got.messages[1:] == [on_next(240, timed_out(40)), on_completed(240)]


def test_nothing_starts_after_the_deadline() -> None:
    scheduler = TestScheduler()
    settings = until(60, scheduler)
    calls = [calling("it", id=str(at)) for at in range(3)]

    got = scheduler.start(
        lambda: run_batch(
            calls,
            tool_index([timer(30.0)]),
            context=CONTEXT,
            origin=ORIGIN,
            executor=concurrent(max_concurrency=1),
            settings=settings,
        )
    )

    assert got.messages[-2:] == [
        on_next(260, refused(calls[2], "the turn has no time left, so it did not run")),
        on_completed(260),
    ]


def test_a_tool_knows_its_deadline() -> None:
    scheduler = TestScheduler()
    settings = until(60, scheduler)

    @tool(name="it")
    def it(seen: ToolContext) -> Observable[object]:
        return reactivex.just(seen.deadline == settings.deadline)

    got = scheduler.start(lambda: answer(CALL, it, settings=settings))

    assert got.messages[-2] == on_next(200, finished(CALL, "true", value=True))


def reporting(reports: Callable[[ToolContext], object], kind: str) -> AnyTool:
    def plain(seen: ToolContext) -> str:
        reports(seen)
        return "end"

    async def coroutine(seen: ToolContext) -> str:
        reports(seen)
        return "end"

    def generator(seen: ToolContext) -> Iterator[str]:
        reports(seen)
        yield "end"

    def observed(seen: ToolContext) -> Observable[str]:
        reports(seen)
        return reactivex.just("end")

    functions: dict[str, Callable[..., object]] = {
        "plain": plain,
        "async": coroutine,
        "generator": generator,
        "observable": observed,
    }
    return tool(functions[kind], name="it")


KINDS = ["plain", "async", "generator", "observable"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_tool_reports_is_progress_before_its_end(kind: str) -> None:
    def reports(seen: ToolContext) -> None:
        for at in range(100):
            seen.report(at)

    events = list(block(answer(CALL, reporting(reports, kind))))

    own = [progress(CALL, "end")] if kind in ("generator", "observable") else []
    assert events == [
        started(CALL),
        *(progress(CALL, at) for at in range(100)),
        *own,
        finished(CALL, "end", value="end"),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_what_other_threads_report_arrives_on_the_loop_of_the_stream(kind: str) -> None:
    home: set[int] = set()

    def reports(seen: ToolContext) -> None:
        def report() -> None:
            for at in range(50):
                seen.report(at)

        workers = [threading.Thread(target=report) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(PATIENCE_S)

    async def main() -> list[ToolEvent]:
        async def later(seen: ToolContext) -> str:
            await asyncio.to_thread(reports, seen)
            return "end"

        it = tool(later, name="it") if kind == "async" else reporting(reports, kind)
        noted = answer(CALL, it).pipe(
            ops.do_action(lambda _: home.add(threading.get_ident()))
        )
        got: list[ToolEvent] = []
        done = asyncio.Event()
        # Without a scheduler: the loop is the one that ran at the subscription.
        noted.subscribe(got.append, lambda _: None, done.set)
        async with asyncio.timeout(PATIENCE_S):
            await done.wait()
        return got

    events = asyncio.run(main())

    values = [event.value for event in events if isinstance(event, ToolProgress)]
    assert len([value for value in values if value != "end"]) == 200
    assert isinstance(events[-1], ToolFinished)
    if kind != "observable":  # that one runs wherever it emits
        assert home == {threading.get_ident()}


def test_reports_of_many_threads_are_heard_one_at_a_time() -> None:
    inside: list[int] = []
    overlaps: list[int] = []

    def hear(_: ToolEvent) -> None:
        overlaps.extend(inside)
        inside.append(1)
        threading.Event().wait(0.001)  # what another would need to get in
        inside.pop()

    def reports(seen: ToolContext) -> None:
        workers = [threading.Thread(target=seen.report, args=(at,)) for at in range(20)]
        for worker in workers:
            worker.start()
        # Not joined: the subscriber that they wait for is on this thread.
        waiting.extend(workers)

    waiting: list[threading.Thread] = []
    answer(CALL, reporting(reports, "observable")).subscribe(
        hear, on_error=lambda _: None
    )
    for worker in waiting:
        worker.join(PATIENCE_S)

    assert overlaps == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_reported_after_the_end_is_not_heard(kind: str) -> None:
    kept: list[ToolContext] = []

    events = list(block(answer(CALL, reporting(kept.append, kind))))
    kept[0].report("too late")

    assert isinstance(events[-1], ToolFinished)
    assert progress(CALL, "too late") not in events


@pytest.mark.parametrize("kind", KINDS)
def test_a_subscriber_that_raises_at_a_report_is_not_taken_for_the_tool(
    kind: str,
) -> None:
    def fails(event: ToolEvent) -> None:
        if event == progress(CALL, 1):
            raise LookupError("in the subscriber")

    source = answer(CALL, reporting(lambda seen: seen.report(1), kind))

    with pytest.raises(LookupError):
        list(block(source.pipe(ops.do_action(fails))))


def test_leaving_at_a_report_cancels_the_async_tool_that_reports() -> None:
    trail: list[str] = []

    async def main() -> None:
        closed = asyncio.Event()

        @tool(name="it")
        async def it(seen: ToolContext) -> None:
            try:
                seen.report("leave")
                trail.append("went on to its next await")
                await asyncio.sleep(0)
                trail.append("was not cancelled")
            except asyncio.CancelledError:
                trail.append("cancelled")
                await asyncio.sleep(0)  # its clean-up is left alone
                seen.report("cleaning")
                await asyncio.sleep(0)
                trail.append("cleaned")
                raise
            finally:
                closed.set()

        events = await gathered(answer(CALL, it).pipe(ops.take(2)))
        assert events == [started(CALL), progress(CALL, "leave")]
        async with asyncio.timeout(PATIENCE_S):
            await closed.wait()

    asyncio.run(main())

    assert trail == ["went on to its next await", "cancelled", "cleaned"]


def test_leaving_at_a_report_of_an_observable_that_ends_at_once_is_quiet() -> None:
    errors: list[Exception] = []
    completed: list[str] = []

    @tool(name="it", timeout_s=5)
    def it() -> Observable[int]:
        return reactivex.of(1, 2, 3)

    answer(CALL, it).pipe(ops.take(2)).subscribe(
        lambda _: None, errors.append, lambda: completed.append("completed")
    )

    assert (errors, completed) == ([], ["completed"])


def test_an_observable_tool_that_exits_ends_the_run_and_not_the_loop() -> None:
    @tool(name="it")
    def it() -> Observable[int]:
        raise SystemExit(2)

    with pytest.raises(ToolError, match=r"'it' tried to exit the program \(2\)"):
        list(block(answer(CALL, it)))


def test_no_timer_is_left_behind() -> None:
    @tool(name="it", timeout_s=1_000)
    async def it() -> str:
        return "done"

    async def main() -> tuple[list[ToolEvent], int]:
        events = await gathered(answer(CALL, it))
        loop: Any = asyncio.get_running_loop()
        return events, len([each for each in loop._scheduled if not each.cancelled()])

    (events, timers), took_s = run_virtual(main())

    assert isinstance(events[-1], ToolFinished)
    assert timers == 0
    assert took_s == 0


def test_leaving_at_a_report_is_quiet_where_no_loop_runs() -> None:
    errors: list[Exception] = []
    it = reporting(lambda seen: seen.report("leave"), "observable")

    heard: list[ToolEvent] = []
    answer(CALL, it).pipe(ops.take(2)).subscribe(heard.append, errors.append)

    assert heard == [started(CALL), progress(CALL, "leave")]
    assert errors == []
