from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import pytest

from rxagent.errors import StreamCancelledError, StreamError
from rxagent.runtime import Flow, LoopScheduler, from_thread, run


@pytest.fixture
def pool() -> Generator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_a_function_runs_in_the_pool_once_for_each_subscription(
    pool: ThreadPoolExecutor,
) -> None:
    threads: list[threading.Thread] = []
    source = from_thread(lambda: threads.append(threading.current_thread()), pool=pool)
    assert threads == []

    run(source)
    run(source)

    assert len(threads) == 2
    assert threading.main_thread() not in threads


def test_what_a_function_raises_is_the_error_of_the_stream(
    pool: ThreadPoolExecutor,
) -> None:
    broken = OSError("the disk broke")

    def fail() -> int:
        raise broken

    with pytest.raises(OSError, match="the disk broke") as at:
        run(from_thread(fail, pool=pool))
    assert at.value is broken


def test_disposing_takes_a_function_off_the_queue(pool: ThreadPoolExecutor) -> None:
    """One that runs goes on, and nobody is told."""
    began, go_on = threading.Event(), threading.Event()
    done: list[str] = []

    def slow() -> None:
        began.set()
        assert go_on.wait(5)
        done.append("the first")

    async def leave_both() -> None:
        told: list[object] = []
        first = from_thread(slow, pool=pool).subscribe(told.append, told.append)
        second = from_thread(lambda: done.append("the second"), pool=pool).subscribe()
        while not began.is_set():
            await asyncio.sleep(0)
        first.dispose()
        second.dispose()
        await asyncio.sleep(0)
        go_on.set()
        await Flow[None].of(from_thread(lambda: None, pool=pool))
        assert told == []

    asyncio.run(leave_both())
    assert done == ["the first"]


def test_a_pool_that_takes_no_more_is_the_error_of_the_stream(
    pool: ThreadPoolExecutor,
) -> None:
    pool.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        run(from_thread(lambda: None, pool=pool))


def test_a_pool_that_drops_a_function_is_told(pool: ThreadPoolExecutor) -> None:
    go_on = threading.Event()
    pool.submit(go_on.wait, 5)

    async def dropped() -> None:
        told: list[Exception] = []
        from_thread(lambda: None, pool=pool).subscribe(on_error=told.append)
        from_thread(lambda: None, pool=pool).subscribe()  # with nobody to tell
        pool.shutdown(wait=False, cancel_futures=True)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        [error] = told
        assert isinstance(error, StreamCancelledError)

    try:
        asyncio.run(dropped())
    finally:
        go_on.set()


def test_a_loop_that_ends_first_is_no_silence(pool: ThreadPoolExecutor) -> None:
    """It is told at once, and once; what has not begun will not."""
    go_on = threading.Event()
    told: list[Exception] = []
    ran: list[int] = []

    async def leave() -> None:
        from_thread(go_on.wait, pool=pool).subscribe(on_error=told.append)
        from_thread(lambda: ran.append(1), pool=pool).subscribe(on_error=told.append)
        from_thread(lambda: ran.append(2), pool=pool).subscribe()  # nobody to tell

    try:
        asyncio.run(leave())
        assert [type(error) for error in told] == [StreamCancelledError] * 2
    finally:
        go_on.set()
    pool.submit(int).result()
    assert len(told) == 2
    assert ran == []


@pytest.mark.parametrize("ends_on", ["its loop", "another thread"])
def test_a_function_that_ends_before_its_loop_is_no_silence(
    pool: ThreadPoolExecutor, ends_on: str
) -> None:
    """The loop never comes to what the function has returned."""
    loop = asyncio.new_event_loop()
    told: list[object] = []
    source = from_thread(lambda: 1, pool=pool)

    def subscribe() -> None:
        source.subscribe(told.append, told.append, scheduler=LoopScheduler(loop))

    if ends_on == "its loop":
        loop.call_soon(loop.stop)
        loop.call_soon(subscribe)
        loop.run_forever()
    else:
        subscribe()
    pool.submit(int).result()
    assert told == []
    loop.close()
    [error] = told
    assert isinstance(error, StreamCancelledError)


def test_a_closed_loop_runs_nothing(pool: ThreadPoolExecutor) -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    ran: list[int] = []
    told: list[Exception] = []
    from_thread(lambda: ran.append(1), pool=pool).subscribe(
        on_error=told.append, scheduler=LoopScheduler(loop)
    )
    pool.submit(int).result()
    [error] = told
    assert isinstance(error, StreamError)
    assert ran == []


def test_the_reader_sees_the_context_variables_of_the_subscriber(
    pool: ThreadPoolExecutor,
) -> None:
    who = contextvars.ContextVar("who", default="nobody")

    async def subscribe() -> list[str]:
        seen: list[str] = []
        done, go_on = asyncio.Event(), threading.Event()
        who.set("ann")
        from_thread(lambda: go_on.wait(5), pool=pool).subscribe(
            lambda _: seen.append(who.get()), on_completed=done.set
        )
        who.set("bob")
        go_on.set()
        await done.wait()
        return seen

    assert asyncio.run(subscribe()) == ["ann"]


def test_the_function_sees_the_context_variables_of_the_subscriber(
    pool: ThreadPoolExecutor,
) -> None:
    who = contextvars.ContextVar("who", default="nobody")
    meet = threading.Barrier(2, timeout=5)
    source = Flow[str].of(from_thread(who.get, pool=pool))
    who.set("ann")

    async def ask(name: str) -> str:
        who.set(name)
        return await source

    def there(name: str) -> str:
        meet.wait()
        return asyncio.run(ask(name))

    assert source.run() == "ann"
    assert asyncio.run(ask("bob")) == "bob"
    with ThreadPoolExecutor(2) as two:
        assert [*two.map(there, ["cid", "dan"])] == ["cid", "dan"]


def test_a_subscriber_that_fails_is_reported(pool: ThreadPoolExecutor) -> None:
    broken = ValueError("the reader broke")

    def fail(_: object) -> None:
        raise broken

    async def subscribe() -> object:
        reported: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: reported.set_result(context["exception"])
        )
        from_thread(lambda: None, pool=pool).subscribe(fail)
        return await reported

    assert asyncio.run(subscribe()) is broken


def test_an_exit_in_a_thread_ends_the_stream_and_not_the_portal(
    pool: ThreadPoolExecutor,
) -> None:
    for _ in range(2):
        with pytest.raises(StreamError, match="tried to exit"):
            run(from_thread(sys.exit, pool=pool))
