from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import pytest
import reactivex
from reactivex import abc
from reactivex import operators as ops
from reactivex.scheduler import CurrentThreadScheduler, NewThreadScheduler
from reactivex.scheduler.eventloop import AsyncIOScheduler

from rxagent.errors import (
    BufferOverflowError,
    ConfigurationError,
    NoItemsError,
    StreamError,
)
from rxagent.operators import just
from rxagent.runtime import (
    Flow,
    LoopScheduler,
    Overflow,
    Sink,
    block,
    from_async_iterable,
    from_producer,
    iterate,
    loop_for,
    run,
)
from rxagent.runtime._portal import Portal


async def three() -> AsyncIterator[int]:
    for number in (1, 2, 3):
        await asyncio.sleep(0)
        yield number


def flow() -> Flow[int]:
    return Flow.of(from_async_iterable(three))


def test_every_edge_gives_the_same_items() -> None:
    async def awaited() -> int:
        return await flow()

    async def iterated() -> list[int]:
        return [item async for item in flow()]

    assert flow().run() == 3
    assert list(flow()) == [1, 2, 3]
    assert asyncio.run(awaited()) == 3
    assert asyncio.run(iterated()) == [1, 2, 3]
    assert reactivex.Observable.run(flow()) == 3


def test_pipe_keeps_the_edges() -> None:
    piped = flow().pipe(ops.map(str), ops.take(2))

    assert isinstance(piped, Flow)
    assert list(piped) == ["1", "2"]
    assert list(flow().pipe()) == [1, 2, 3]


def test_a_flow_that_is_shown_says_how_to_read_it() -> None:
    assert ".run()" in repr(flow().pipe(ops.map(str)))


def test_run_works_inside_a_running_loop_as_in_a_notebook() -> None:
    async def cell() -> int:
        return flow().run()

    assert asyncio.run(cell()) == 3


def test_run_twice_in_a_row_and_from_many_threads() -> None:
    seen: list[int] = []
    threads = [
        threading.Thread(target=lambda: seen.append(flow().run())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    assert seen == [3] * 8
    assert [flow().run(), flow().run()] == [3, 3]


def test_blocking_the_loop_that_feeds_the_stream_is_an_error_and_no_deadlock() -> None:
    def blocks(_: int) -> int:
        return flow().run()

    with pytest.raises(StreamError, match="blocking the loop that feeds it"):
        flow().pipe(ops.map(blocks)).run()


def test_blocking_ones_own_loop_is_an_error_too_and_no_deadlock() -> None:
    async def cell() -> None:
        scheduler = LoopScheduler(asyncio.get_running_loop())
        with pytest.raises(StreamError, match="blocking the loop that feeds it"):
            flow().run(scheduler=scheduler)
        with pytest.raises(StreamError, match="blocking the loop that feeds it"):
            next(block(flow(), scheduler=scheduler))

    asyncio.run(cell())


def test_a_stream_is_subscribed_on_the_thread_that_feeds_it() -> None:
    """Else RxPY's ``concat`` loses a source now and then, and the reader hangs."""
    threads: list[str] = []

    def subscribe(
        observer: abc.ObserverBase[str], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        threads.append(threading.current_thread().name)
        return just("hi").subscribe(observer, scheduler=scheduler)

    noting = Flow[str](subscribe)
    assert [noting.run(), *noting] == ["hi", "hi"]
    assert threads == ["rxagent-portal"] * 2

    parts = [reactivex.just(number) for number in range(3)]
    concatenated = Flow[int].of(reactivex.concat(*parts))
    for _ in range(300):
        assert concatenated.run() == 2


def test_a_stream_may_run_on_a_loop_of_another_thread() -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    threads: set[int | None] = set()
    noting = flow().pipe(ops.do_action(lambda _: threads.add(threading.get_ident())))
    endless = Endless()

    assert noting.run(scheduler=LoopScheduler(loop)) == 3
    assert list(block(noting, scheduler=LoopScheduler(loop))) == [1, 2, 3]
    assert noting.run(scheduler=AsyncIOScheduler(loop)) == 3
    items = block(from_producer(endless), maxsize=8, scheduler=LoopScheduler(loop))
    assert [next(items) for _ in range(100)] == list(range(100))
    items.close()
    assert endless.closed.wait(5)
    assert endless.sent <= 100 + 8 + 3

    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    assert threads == {thread.ident}


def test_a_scheduler_without_a_loop_subscribes_where_it_likes() -> None:
    threads: set[str] = set()

    def note(_: object) -> None:
        threads.add(threading.current_thread().name)

    noting = Flow.of(just(1, 2)).pipe(ops.do_action(note))
    assert noting.run(scheduler=NewThreadScheduler()) == 2
    assert list(block(noting, scheduler=NewThreadScheduler())) == [1, 2]
    assert threads == {threading.current_thread().name}
    assert flow().run(scheduler=NewThreadScheduler()) == 3


def test_a_closed_loop_is_an_error_and_not_silence() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    scheduler = LoopScheduler(loop)
    errors: list[Exception] = []

    flow().subscribe(on_error=errors.append, scheduler=scheduler)
    [error] = errors
    assert isinstance(error, StreamError)
    with pytest.raises(StreamError, match="closed"):
        flow().run(scheduler=scheduler)
    for delay in (0.0, 0.001):
        with pytest.raises(StreamError, match="closed"):
            scheduler.schedule_relative(delay, lambda *_: None)


def exits(number: int) -> int:
    sys.exit(number + 2)


@pytest.mark.parametrize(
    "stream",
    [
        flow().pipe(ops.map(exits)),
        flow().pipe(ops.delay(0.001), ops.map(exits)),
        Flow.of(just(1)).pipe(ops.map(exits)),
    ],
    ids=["in a task", "in a timer", "while subscribing"],
)
def test_a_callback_that_exits_is_an_error_and_ends_no_other_stream(
    stream: Flow[int],
) -> None:
    other = Endless()
    others = block(from_producer(other))
    first = next(others)

    for edge in (stream.run, lambda: list(stream)):
        with pytest.raises(StreamError, match="tried to exit") as at:
            edge()
        assert isinstance(at.value.__cause__, SystemExit)

    assert (first, next(others)) == (0, 1)
    others.close()
    assert other.closed.wait(5)


def test_a_stray_exit_on_the_portal_is_reported_and_ends_nothing() -> None:
    reported: list[object] = []
    loop = Portal.current().loop
    loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))
    loop.call_soon_threadsafe(sys.exit, 3)

    assert flow().run() == 3
    loop.set_exception_handler(None)
    [exit_] = reported
    assert isinstance(exit_, SystemExit)


def test_a_callback_that_exits_ends_the_program_of_a_loop_of_its_own() -> None:
    async def program() -> None:
        flow().pipe(ops.map(exits)).subscribe(on_error=errors.append)
        await asyncio.Event().wait()

    errors: list[Exception] = []
    with pytest.raises(SystemExit, match="3"):
        asyncio.run(program())
    [error] = errors
    assert isinstance(error, StreamError)


def test_waiting_for_the_last_item_keeps_that_one_alone() -> None:
    many = Flow[int].of(just(*range(200_000)))

    async def awaited() -> int:
        return await many

    assert asyncio.run(awaited()) == many.run() == 199_999


@pytest.mark.parametrize("maxsize", [0, -1, 1.5, "8", None])
@pytest.mark.parametrize("read", [iterate, block])
def test_a_buffer_holds_an_item_at_least(
    read: Callable[..., object], maxsize: object
) -> None:
    with pytest.raises(ConfigurationError, match="maxsize must be 1 or more items"):
        read(flow(), maxsize=maxsize)


def test_an_empty_stream_has_no_last_item() -> None:
    empty = Flow[int].of(reactivex.empty())

    async def awaited() -> int:
        return await empty

    with pytest.raises(NoItemsError):
        empty.run()
    with pytest.raises(NoItemsError):
        asyncio.run(awaited())


def test_an_error_arrives_with_its_own_type_at_every_edge() -> None:
    """S001-117."""
    broken = OSError("broken")
    failing = Flow[int].of(reactivex.concat(just(1), reactivex.throw(broken)))
    seen: list[int] = []

    async def iterated() -> None:
        async for item in failing:
            seen.append(item)

    async def awaited() -> int:
        return await failing

    for edge in (
        failing.run,
        lambda: list(failing),
        lambda: asyncio.run(iterated()),
        lambda: asyncio.run(awaited()),
    ):
        with pytest.raises(OSError, match="broken") as at:
            edge()
        assert at.value is broken
    assert seen == [1]


class Endless:
    """A producer that obeys pauses and stops, and notes when it is closed."""

    def __init__(self) -> None:
        self.sent = 0
        self.closed = threading.Event()

    async def __call__(self, sink: Sink[int]) -> None:
        try:
            while True:
                await asyncio.sleep(0)
                sink.emit(self.sent)
                self.sent += 1
                if sink.stopped:
                    return
                if sink.paused:
                    await sink.resumed()
        finally:
            self.closed.set()


def test_leaving_a_for_loop_disposes_the_stream() -> None:
    endless = Endless()
    for item in block(from_producer(endless)):
        if item == 3:
            break

    assert endless.closed.wait(5)


def test_leaving_an_async_for_loop_disposes_the_stream() -> None:
    async def scenario() -> None:
        endless = Endless()
        async with aclosing(iterate(from_producer(endless))) as items:
            async for item in items:
                if item == 3:
                    break
        await asyncio.sleep(0)
        assert endless.closed.is_set()

    asyncio.run(scenario())


def test_cancelling_an_await_disposes_the_stream() -> None:
    async def scenario() -> None:
        endless = Endless()
        waiting = asyncio.ensure_future(_await(Flow.of(from_producer(endless))))
        while endless.sent < 3:
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.sleep(0)
        assert endless.closed.is_set()

    asyncio.run(scenario())


async def _await(stream: Flow[int]) -> int:
    return await stream


def test_a_slow_reader_pauses_the_source() -> None:
    async def scenario() -> None:
        endless = Endless()
        async with aclosing(iterate(from_producer(endless), maxsize=8)) as items:
            for _ in range(20):
                item = await anext(items)
                for _ in range(50):  # the source could run far ahead now
                    await asyncio.sleep(0)
                assert endless.sent <= item + 8 + 3

    asyncio.run(scenario())


def test_a_blocking_reader_pauses_the_source() -> None:
    endless = Endless()
    items = block(from_producer(endless), maxsize=8)
    first = [next(items) for _ in range(100)]
    before = endless.sent
    items.close()

    assert first == list(range(100))
    assert before <= 100 + 8 + 3
    assert endless.closed.wait(5)


@pytest.mark.parametrize(
    ("overflow", "expected"),
    [("drop_oldest", [95, 96, 97, 98, 99]), ("drop_newest", [0, 1, 2, 3, 4])],
)
def test_a_lossy_buffer_keeps_what_it_says(
    overflow: Overflow, expected: list[int]
) -> None:
    async def scenario() -> list[int]:
        items = iterate(just(*range(100)), maxsize=5, overflow=overflow)
        return [item async for item in items]

    assert asyncio.run(scenario()) == expected


@pytest.mark.parametrize(("overflow", "limit"), [("error", 5), ("suspend", 5 + 65_536)])
def test_a_source_that_cannot_pause_fails_after_what_fits(
    overflow: Overflow, limit: int
) -> None:
    seen: list[int] = []

    async def scenario() -> None:
        items = iterate(just(*range(100_000)), maxsize=5, overflow=overflow)
        async for item in items:
            seen.append(item)

    with pytest.raises(BufferOverflowError) as at:
        asyncio.run(scenario())
    assert at.value.unread == limit
    assert seen == list(range(limit))


def test_a_buffer_that_gives_up_stops_the_source_at_once() -> None:
    async def scenario() -> None:
        endless = Endless()
        items = iterate(from_producer(endless), maxsize=5, overflow="error")
        assert await anext(items) == 0
        while not endless.closed.is_set():
            await asyncio.sleep(0)
        assert [await anext(items) for _ in range(5)] == [1, 2, 3, 4, 5]
        with pytest.raises(BufferOverflowError):
            await anext(items)

    asyncio.run(asyncio.wait_for(scenario(), 5))


def test_items_from_another_thread_wake_the_reader() -> None:
    async def scenario() -> list[int]:
        subject: reactivex.Subject[int] = reactivex.Subject()

        def produce() -> None:
            for number in range(5):
                subject.on_next(number)
            subject.on_completed()

        thread = threading.Thread(target=produce)
        asyncio.get_running_loop().call_soon(thread.start)
        items = [item async for item in iterate(subject)]
        thread.join()
        return items

    assert asyncio.run(asyncio.wait_for(scenario(), 5)) == [0, 1, 2, 3, 4]


def test_the_loop_of_a_source_follows_the_scheduler_then_the_running_loop() -> None:
    async def scenario() -> None:
        running = asyncio.get_running_loop()
        other = asyncio.new_event_loop()
        assert loop_for(None) is running
        assert loop_for(LoopScheduler(other)) is other
        # Whoever gives another scheduler may block this loop.
        assert loop_for(CurrentThreadScheduler()) not in (running, other)
        other.close()

    asyncio.run(scenario())
    assert loop_for(None).is_running()


def test_time_operators_run_on_the_loop_of_the_reader() -> None:
    async def scenario() -> list[int]:
        delayed = flow().pipe(ops.delay(0.001))
        here = threading.get_ident()
        threads: set[int] = set()
        note = ops.do_action(lambda _: threads.add(threading.get_ident()))
        items = [item async for item in delayed.pipe(note)]
        assert threads == {here}
        return items

    assert asyncio.run(scenario()) == [1, 2, 3]


def test_a_disposed_timer_never_fires() -> None:
    async def scenario() -> None:
        fired: list[bool] = []
        scheduler = LoopScheduler(asyncio.get_running_loop())
        for delay in (0.0, 0.001):
            scheduler.schedule_relative(delay, lambda *_: fired.append(True)).dispose()
        kept = asyncio.Event()
        scheduler.schedule_relative(0.002, lambda *_: kept.set())
        await asyncio.wait_for(kept.wait(), 5)
        assert fired == []

    asyncio.run(scenario())


def test_a_run_in_a_thread_does_not_need_a_loop_there() -> None:
    assert run(just("hi")) == "hi"
