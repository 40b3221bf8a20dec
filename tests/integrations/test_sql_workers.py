from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from functools import partial

import pytest

from rxagent.integrations.sql.workers import Workers


def test_no_more_run_than_there_are_and_each_ends_when_nothing_waits() -> None:
    workers, running, most = Workers(3), 0, 0
    lock = threading.Lock()

    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        with lock:
            running -= 1
        return number

    async def all_of_them() -> list[int]:
        calls = [workers.run(partial(work, number)) for number in range(50)]
        return await asyncio.gather(*calls)

    assert asyncio.run(all_of_them()) == [*range(50)]
    assert 1 <= most <= 3
    for thread in threading.enumerate():
        if thread.name == "rxagent-sql" and thread.is_alive():
            thread.join(10)
    assert "rxagent-sql" not in {each.name for each in threading.enumerate()}


def test_what_waits_and_is_left_never_begins() -> None:
    workers, begun = Workers(1), list[str]()
    go_on = threading.Event()

    async def leave() -> None:
        first = asyncio.create_task(workers.run(go_on.wait))
        second = asyncio.create_task(workers.run(lambda: begun.append("second")))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        go_on.set()
        await first
        await workers.run(lambda: begun.append("third"))

    asyncio.run(leave())

    assert begun == ["third"]


def test_work_sees_the_context_variables_of_its_caller() -> None:
    name = contextvars.ContextVar[str]("name")

    async def ask() -> str:
        name.set("ann")
        return await Workers(1).run(name.get)

    assert asyncio.run(ask()) == "ann"


def test_a_failure_that_nobody_waits_for_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    workers, begun, go_on = Workers(1), threading.Event(), threading.Event()

    def fail() -> None:
        begun.set()
        go_on.wait()
        raise OSError("it broke")

    async def leave() -> None:
        task = asyncio.create_task(workers.run(fail))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        await workers.run(lambda: None)  # in the same thread, so after the other

    with caplog.at_level(logging.WARNING):
        asyncio.run(leave())

    assert caplog.messages == ["what nobody waits for any more failed: OSError"]
