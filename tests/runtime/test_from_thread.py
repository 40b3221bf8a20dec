from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import pytest

from rxagent.runtime import Flow, from_thread, run


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
