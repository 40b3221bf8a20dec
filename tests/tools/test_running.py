from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import functools
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import aclosing
from queue import SimpleQueue
from typing import Any

import pytest
import reactivex
from reactivex import Observable, abc
from reactivex import operators as ops
from reactivex.disposable import Disposable
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.errors import StreamCancelledError, ToolError
from rxagent.events import ToolFinished, ToolStarted
from rxagent.operators import just
from rxagent.runtime import Flow, block, iterate
from rxagent.tools import ToolEvent, tool
from rxagent.tools.tool import AnyTool
from tests.tools.scene import answer, calling, failed, finished, progress, started

on_next, on_completed = ReactiveTest.on_next, ReactiveTest.on_completed
on_error, subscribe = ReactiveTest.on_error, ReactiveTest.subscribe

CALL = calling("it")
PATIENCE_S = 10.0
user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


def named_it(function: Callable[..., object]) -> AnyTool:
    return tool(function, name="it")


def heard(function: Callable[..., object]) -> list[ToolEvent]:
    """The events of a run on the portal, as a script sees them."""
    return list(block(answer(CALL, named_it(function))))


async def heard_here(function: Callable[..., object]) -> list[ToolEvent]:
    """The events of a run on the running loop."""
    async with aclosing(iterate(answer(CALL, named_it(function)))) as events:
        return [event async for event in events]


def plain() -> int:
    return 7


async def coroutine() -> int:
    return 7


def generator() -> Iterator[int]:
    yield 6
    yield 7


async def async_generator() -> AsyncGenerator[int]:
    yield 6
    yield 7


def observable() -> Observable[int]:
    return reactivex.of(6, 7)


def flow() -> Flow[int]:
    return Flow.of(reactivex.of(6, 7))


def unannotated():  # type: ignore[no-untyped-def]
    return reactivex.of(6, 7)


async def later() -> Observable[int]:
    return reactivex.of(6, 7)


REPORTS = [
    generator,
    async_generator,
    observable,
    flow,
    unannotated,
    later,
]


@pytest.mark.parametrize("function", [plain, coroutine])
def test_what_a_function_returns_is_the_result(function: Callable[[], Any]) -> None:
    expected = [started(CALL), finished(CALL, "7", value=7)]

    assert heard(function) == expected
    assert asyncio.run(heard_here(function)) == expected


@pytest.mark.parametrize("function", REPORTS)
def test_each_item_is_progress_and_the_last_is_the_result(
    function: Callable[[], Any],
) -> None:
    expected = [
        started(CALL),
        progress(CALL, 6),
        progress(CALL, 7),
        finished(CALL, "7", value=7),
    ]

    assert heard(function) == expected
    assert asyncio.run(heard_here(function)) == expected


def test_what_a_generator_returns_goes_before_its_last_item() -> None:
    def count() -> Generator[int, None, str]:
        yield 1
        return "done"

    assert heard(count) == [
        started(CALL),
        progress(CALL, 1),
        finished(CALL, "done", value="done"),
    ]


def nothing_sync() -> Iterator[int]:
    yield from ()


async def nothing_async() -> AsyncGenerator[int]:
    for item in list[int]():
        yield item


def nothing_observed() -> Observable[int]:
    return reactivex.empty()


@pytest.mark.parametrize("function", [nothing_sync, nothing_async, nothing_observed])
def test_without_an_item_the_result_is_none(function: Callable[[], Any]) -> None:
    assert heard(function) == [started(CALL), finished(CALL, "null", value=None)]


def test_a_lazy_sequence_of_a_plain_function_is_read_in_its_thread() -> None:
    threads: list[str] = []

    def noted(item: int) -> int:
        threads.append(threading.current_thread().name)
        return item

    def mapped() -> Iterator[int]:
        return map(noted, [1, 2])

    def expression() -> Iterator[int]:
        return (noted(item) for item in [1, 2])

    for function in (mapped, expression):
        assert heard(function) == [
            started(CALL),
            finished(CALL, "[1,2]", value=[1, 2]),
        ]
    assert not any(name.startswith("rxagent-portal") for name in threads)


def test_a_wrapped_generator_still_reports() -> None:
    @functools.wraps(generator)
    def wrapper() -> Iterator[int]:
        return generator()

    assert heard(wrapper) == heard(generator)


def test_a_wrapped_coroutine_is_awaited() -> None:
    @functools.wraps(coroutine)
    def wrapper() -> Any:
        return coroutine()

    assert heard(wrapper) == heard(coroutine)


def test_an_annotation_that_promises_too_much_harms_nothing() -> None:
    def promised() -> Observable[int]:
        return 7  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    assert heard(promised) == [started(CALL), finished(CALL, "7", value=7)]


class Countdown:
    """An async iterator that is no generator, and cannot be closed."""

    def __init__(self, start: int) -> None:
        self._left = start

    def __aiter__(self) -> Countdown:
        return self

    async def __anext__(self) -> int:
        if not self._left:
            raise StopAsyncIteration
        self._left -= 1
        return self._left


def test_an_async_iterator_of_any_kind_reports() -> None:
    async def countdown() -> Countdown:
        return Countdown(2)

    assert heard(countdown) == [
        started(CALL),
        progress(CALL, 1),
        progress(CALL, 0),
        finished(CALL, "0", value=0),
    ]


def test_plain_functions_and_generators_run_in_worker_threads() -> None:
    seen: list[str] = []

    def note() -> None:
        seen.append(threading.current_thread().name)

    def steps() -> Iterator[int]:
        note()
        yield 1
        note()

    async def on_loop() -> None:
        note()

    heard(note)
    heard(steps)
    heard(on_loop)

    assert seen == [*["rxagent-tool"] * 3, "rxagent-portal"]


def raises() -> str:
    raise ValueError("disk full")


async def raises_async() -> str:
    raise ValueError("disk full")


def raises_stepping() -> Iterator[str]:
    yield "a"
    raise ValueError("disk full")


async def raises_async_stepping() -> AsyncGenerator[str]:
    yield "a"
    raise ValueError("disk full")


def raises_building() -> Observable[str]:
    raise ValueError("disk full")


def raises_observed() -> Observable[str]:
    return reactivex.throw(ValueError("disk full"))


def raises_subscribing() -> Observable[str]:
    def subscribe(*_: object) -> abc.DisposableBase:
        raise ValueError("disk full")

    return Observable(subscribe)


async def raises_in_a_group() -> str:
    async with asyncio.TaskGroup() as group:
        group.create_task(raises_async())
    return "never"


RAISING = [
    raises,
    raises_async,
    raises_stepping,
    raises_async_stepping,
    raises_building,
    raises_observed,
    raises_subscribing,
    raises_in_a_group,
]


@pytest.mark.parametrize("function", RAISING)
def test_a_tool_that_raises_is_a_result_that_says_what(
    function: Callable[[], Any],
) -> None:
    """S000-30, case loop-tool-raises-siblings-kept."""
    events = heard(function)

    assert events[0] == started(CALL)
    assert events[-1] == failed(CALL, "ValueError: disk full")


class Mute(Exception):  # noqa: N818 - a user's own
    def __str__(self) -> str:
        raise OSError("no")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (KeyError(), "KeyError"),
        (KeyError("a"), "KeyError: 'a'"),
        (StopIteration(), "StopIteration"),
        (TimeoutError(), "TimeoutError"),
        (concurrent.futures.CancelledError(), "CancelledError"),
        (Mute(), "Mute"),
        (ValueError("\ud800"), "ValueError: \ufffd"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("kind", ["plain", "async", "generator"])
def test_every_exception_has_a_text(error: Exception, says: str, kind: str) -> None:
    def plain() -> None:
        raise error

    async def coroutine() -> None:
        raise error

    def generator() -> Iterator[int]:
        raise error
        yield 1

    functions = {"plain": plain, "async": coroutine, "generator": generator}
    event = heard(functions[kind])[-1]

    assert isinstance(event, ToolFinished)
    assert event.message.is_error
    assert says in event.message.text
    assert event.value is None


FATAL = [
    ToolError("it", "must not be seen"),
    StreamCancelledError("of a nested stream"),
]


@pytest.mark.parametrize("error", FATAL)
def test_what_is_not_for_the_model_ends_the_run(error: Exception) -> None:
    def plain() -> None:
        raise error

    async def coroutine() -> None:
        raise error

    def observed() -> Observable[int]:
        return reactivex.throw(error)

    def building() -> Observable[int]:
        raise error

    for function in (plain, coroutine, observed, building):
        events: list[ToolEvent] = []
        with pytest.raises(type(error)) as caught:
            events.extend(block(answer(CALL, named_it(function))))
        assert caught.value is error
        assert not any(isinstance(event, ToolFinished) for event in events)


def exits() -> None:
    raise SystemExit(2)


async def exits_async() -> None:
    raise SystemExit(2)


@pytest.mark.parametrize("function", [exits, exits_async])
def test_a_tool_that_exits_ends_the_run_and_not_the_loop(
    function: Callable[[], Any],
) -> None:
    with pytest.raises(ToolError, match=r"'it' tried to exit the program \(2\)"):
        heard(function)

    assert heard(plain)[-1] == finished(CALL, "7", value=7)


def test_a_cancellation_by_somebody_else_is_no_result() -> None:
    """Case loop-cancel-is-not-a-tool-error."""

    async def cancelled() -> None:
        raise asyncio.CancelledError

    with pytest.raises(StreamCancelledError):
        heard(cancelled)


@pytest.mark.parametrize("function", [plain, coroutine, *REPORTS])
def test_disposing_on_the_start_is_in_time(function: Callable[[], Any]) -> None:
    ran: list[str] = []

    @functools.wraps(function)
    def noting() -> Any:
        ran.append("ran")
        return function()

    @functools.wraps(function)
    async def noting_async() -> Any:
        ran.append("ran")

    body = noting_async if function is coroutine else noting
    first = list(block(answer(CALL, named_it(body)).pipe(ops.take(1))))

    assert first == [started(CALL)]
    assert ran == []


def test_disposing_cancels_an_async_tool() -> None:
    """Case loop-cancel-is-not-a-tool-error."""
    events: list[ToolEvent] = []
    ended: list[str] = []

    async def main() -> None:
        begun, closed = asyncio.Event(), asyncio.Event()

        async def sleepy() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise
            finally:
                closed.set()

        source = answer(CALL, named_it(sleepy))
        subscription = source.subscribe(
            events.append,
            lambda error: ended.append(f"error {error}"),
            lambda: ended.append("completed"),
        )
        await begun.wait()
        subscription.dispose()
        async with asyncio.timeout(PATIENCE_S):
            await closed.wait()

    asyncio.run(main())

    assert events == [started(CALL)]
    assert ended == ["cancelled"]


def test_disposing_closes_an_async_generator() -> None:
    closed: list[bool] = []

    async def endless() -> AsyncGenerator[int]:
        try:
            number = 0
            while True:
                yield number
                number += 1
        finally:
            closed.append(True)

    async def main() -> list[ToolEvent]:
        source = answer(CALL, named_it(endless)).pipe(ops.take(3))
        async with aclosing(iterate(source)) as events:
            return [event async for event in events]

    assert asyncio.run(main()) == [
        started(CALL),
        progress(CALL, 0),
        progress(CALL, 1),
    ]
    assert closed == [True]


@pytest.mark.parametrize("waits", [True, False], ids=["loop goes on", "loop ends"])
def test_disposing_closes_a_generator_between_its_steps(waits: bool) -> None:
    closed: SimpleQueue[str] = SimpleQueue()

    def endless() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            closed.put(threading.current_thread().name)

    async def main() -> None:
        source = answer(CALL, named_it(endless)).pipe(ops.take(2))
        async with aclosing(iterate(source)) as events:
            assert len([event async for event in events]) == 2
        async with asyncio.timeout(PATIENCE_S):
            while waits and closed.empty():
                await asyncio.sleep(0)

    asyncio.run(main())

    where = closed.get(timeout=PATIENCE_S)
    assert where == "rxagent-tool" or not waits
    assert closed.empty()


def test_disposing_does_not_wait_for_a_thread_and_its_failure_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """M-28."""
    events: list[ToolEvent] = []
    go = threading.Event()
    runs_in: SimpleQueue[threading.Thread] = SimpleQueue()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        begun = asyncio.Event()

        def stubborn() -> None:
            runs_in.put(threading.current_thread())
            loop.call_soon_threadsafe(begun.set)
            assert go.wait(PATIENCE_S)
            raise ValueError("too late")

        subscription = answer(CALL, named_it(stubborn)).subscribe(
            events.append, on_error=lambda _: None
        )
        await begun.wait()
        subscription.dispose()
        await asyncio.sleep(0)
        assert not go.is_set()
        go.set()

    with caplog.at_level(logging.INFO, logger="rxagent.tools"):
        asyncio.run(main())
        runs_in.get().join(PATIENCE_S)

    assert events == [started(CALL)]
    abandoned, failed_later = caplog.records
    assert "tool 'it' cannot be stopped where it runs" in abandoned.message
    assert "tool 'it' failed, abandoned" in failed_later.message
    assert failed_later.exc_info is not None
    assert str(failed_later.exc_info[1]) == "too late"


def test_a_generator_disposed_within_a_step_is_closed_after_it() -> None:
    trail: list[str] = []
    go = threading.Event()
    runs_in: SimpleQueue[threading.Thread] = SimpleQueue()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        begun = asyncio.Event()

        def stubborn() -> Iterator[int]:
            try:
                runs_in.put(threading.current_thread())
                loop.call_soon_threadsafe(begun.set)
                assert go.wait(PATIENCE_S)
                trail.append("stepped")
                yield 1
                trail.append("stepped again")
            finally:
                trail.append("closed")

        subscription = answer(CALL, named_it(stubborn)).subscribe(
            lambda _: None, on_error=lambda _: None
        )
        await begun.wait()
        subscription.dispose()
        await asyncio.sleep(0)
        go.set()

    asyncio.run(main())
    runs_in.get().join(PATIENCE_S)

    assert trail == ["stepped", "closed"]


@pytest.mark.parametrize(
    "kind", ["plain", "async", "generator", "observable", "context"]
)
def test_tools_see_the_context_variables_of_the_subscriber(kind: str) -> None:
    def plain() -> str:
        return user.get()

    async def coroutine() -> str:
        return user.get()

    def generator() -> Iterator[str]:
        yield user.get()

    def observed() -> Observable[str]:
        return just(user.get())

    async def nested() -> str:
        return await asyncio.create_task(coroutine())

    functions: dict[str, Callable[[], Any]] = {
        "plain": plain,
        "async": coroutine,
        "generator": generator,
        "observable": observed,
        "context": nested,
    }
    source = answer(CALL, named_it(functions[kind]))

    assert contextvars.copy_context().run(_as_eva, source) == "eva"
    assert user.get() == "nobody"


def _as_eva(source: Observable[ToolEvent]) -> object:
    user.set("eva")
    last = list(block(source))[-1]
    assert isinstance(last, ToolFinished)
    return last.value


def test_an_observable_tool_runs_in_virtual_time() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(
        on_next(50, "a"), on_next(80, "b"), on_completed(90)
    )

    def watch() -> Observable[str]:
        return source

    got = scheduler.start(lambda: answer(CALL, named_it(watch)))

    assert got.messages == [
        on_next(200, started(CALL)),
        on_next(250, progress(CALL, "a")),
        on_next(280, progress(CALL, "b")),
        on_next(290, finished(CALL, "b", value="b")),
        on_completed(290),
    ]
    assert source.subscriptions == [subscribe(200, 290)]


def test_the_scheduler_of_the_subscription_reaches_the_tool() -> None:
    scheduler = TestScheduler()

    def timer() -> Observable[int]:
        return reactivex.timer(50.0)

    got = scheduler.start(lambda: answer(CALL, named_it(timer)))

    assert got.messages == [
        on_next(200, started(CALL)),
        on_next(250, progress(CALL, 0)),
        on_next(250, finished(CALL, "0", value=0)),
        on_completed(250),
    ]


def test_an_observable_that_fails_ends_in_a_result_in_virtual_time() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(
        on_next(50, "a"), on_error(60, OSError("gone"))
    )

    def watch() -> Observable[str]:
        return source

    got = scheduler.start(lambda: answer(CALL, named_it(watch)))

    assert got.messages[-2:] == [
        on_next(260, failed(CALL, "OSError: gone")),
        on_completed(260),
    ]
    assert source.subscriptions == [subscribe(200, 260)]


def test_disposing_unsubscribes_an_observable() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(on_next(50, "a"), on_next(500, "b"))

    def watch() -> Observable[str]:
        return source

    got = scheduler.start(lambda: answer(CALL, named_it(watch)), disposed=300)

    assert got.messages == [
        on_next(200, started(CALL)),
        on_next(250, progress(CALL, "a")),
    ]
    assert source.subscriptions == [subscribe(200, 300)]


@pytest.mark.parametrize("function", [async_generator, observable, generator])
@pytest.mark.parametrize("at", [0, 1, 3], ids=["start", "progress", "end"])
def test_a_subscriber_that_raises_is_not_taken_for_the_tool(
    function: Callable[[], Any], at: int
) -> None:
    seen: list[ToolEvent] = []

    def fails(event: ToolEvent) -> None:
        seen.append(event)
        if len(seen) > at:
            raise LookupError("in the subscriber")

    source = answer(CALL, named_it(function)).pipe(ops.do_action(fails))

    with pytest.raises(LookupError):
        list(block(source))
    assert len(seen) == at + 1


def test_a_subscriber_that_raises_gets_it_back_from_an_observable_tool() -> None:
    errors: list[Exception] = []

    def fails(event: ToolEvent) -> None:
        if event != started(CALL):
            raise LookupError("in the subscriber")

    answer(CALL, named_it(observable)).subscribe(fails, errors.append)

    assert [type(error) for error in errors] == [LookupError]


def test_an_observable_that_never_ends_can_be_left() -> None:
    disposed: list[bool] = []

    def endless() -> Observable[int]:
        return Observable(lambda *_: Disposable(lambda: disposed.append(True)))

    subscription = answer(CALL, named_it(endless)).subscribe(
        lambda event: None, on_error=lambda _: None
    )
    assert disposed == []
    subscription.dispose()

    assert disposed == [True]


def test_start_and_end_are_on_the_loop_of_the_subscriber() -> None:
    threads: set[int] = set()

    async def main() -> None:
        source = answer(CALL, named_it(plain)).pipe(
            ops.do_action(lambda _: threads.add(threading.get_ident()))
        )
        async with aclosing(iterate(source)) as events:
            kinds = [type(event) async for event in events]
        assert kinds == [ToolStarted, ToolFinished]

    asyncio.run(main())

    assert threads == {threading.get_ident()}
