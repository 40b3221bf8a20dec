from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from rxagent.errors import ToolFailedError
from rxagent.tools import Job
from rxagent.tools.threads import ThreadPool, in_thread

PATIENCE_S = 10.0


def job(function: Callable[[], object]) -> Job:
    return Job(tool="it", function=function)


async def values(pool: ThreadPool, *functions: Callable[[], object]) -> list[object]:
    outcomes = await asyncio.gather(*(pool.run(job(each)) for each in functions))
    return [outcome.value for outcome in outcomes]


def test_jobs_run_in_daemons_with_a_name() -> None:
    """M-24."""
    thread = asyncio.run(in_thread(job(threading.current_thread))).value

    assert isinstance(thread, threading.Thread)
    assert thread.daemon
    assert thread.name == "rxagent-tool"


def test_a_pool_is_never_larger_than_its_size_and_loses_nothing() -> None:
    """S000-24."""
    lock, inside, most = threading.Lock(), 0, 0

    def work() -> int:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.001)  # what another would need to get in
        with lock:
            inside -= 1
        return 1

    async def main() -> list[object]:
        return await values(ThreadPool(3), *[work] * 60)

    assert asyncio.run(main()) == [1] * 60
    assert most == 3


def test_the_size_holds_for_all_loops_together() -> None:
    """S000-24, M-25."""
    pool, entered, go = ThreadPool(1), SimpleQueue[str](), threading.Event()

    def slow() -> None:
        entered.put("slow")
        assert go.wait(PATIENCE_S)

    def quick() -> None:
        entered.put("quick")

    loops = [
        threading.Thread(target=asyncio.run, args=(values(pool, each),))
        for each in (slow, quick)
    ]
    loops[0].start()
    assert entered.get(timeout=PATIENCE_S) == "slow"
    loops[1].start()
    loops[1].join(0.05)  # what it would need, if it could
    assert entered.empty()
    go.set()
    for each in loops:
        each.join(PATIENCE_S)
    assert entered.get(timeout=PATIENCE_S) == "quick"


def test_threads_end_when_nothing_waits() -> None:
    async def main() -> None:
        await values(ThreadPool(4), *[int] * 20)

    asyncio.run(main())

    for each in threading.enumerate():
        if each.name == "rxagent-tool":
            each.join(PATIENCE_S)
            assert not each.is_alive()


def test_a_closed_pool_takes_no_jobs_and_drops_those_that_wait() -> None:
    """S000-24, M-24."""
    go = threading.Event()

    async def main() -> None:
        pool = ThreadPool(1)
        begun = asyncio.Event()

        def slow() -> str:
            assert go.wait(PATIENCE_S)
            return "ended"

        runs = asyncio.ensure_future(pool.run(job(slow), begun.set))
        waits = asyncio.ensure_future(pool.run(job(int)))
        await begun.wait()
        pool.close()
        pool.close()

        with pytest.raises(ToolFailedError, match="dropped the call") as dropped:
            await waits
        with pytest.raises(ToolFailedError, match="is closed") as refused:
            await pool.run(job(int))
        kinds = {dropped.value.kind, refused.value.kind}
        assert kinds == {"environment"}
        go.set()
        assert (await runs).value == "ended"

    asyncio.run(main())


def test_cancelling_takes_a_job_off_the_queue() -> None:
    go, ran = threading.Event(), list[str]()

    async def main() -> None:
        pool = ThreadPool(1)
        begun = asyncio.Event()
        runs = asyncio.ensure_future(
            pool.run(job(lambda: go.wait(PATIENCE_S)), begun.set)
        )
        await begun.wait()
        waits = asyncio.ensure_future(pool.run(job(lambda: ran.append("ran"))))
        await asyncio.sleep(0)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        go.set()
        await runs
        assert (await pool.run(job(lambda: "next"))).value == "next"

    asyncio.run(main())

    assert ran == []


def test_a_tool_that_never_returns_keeps_no_program_from_its_end() -> None:
    """M-24, M-28, M-34."""
    program = """
import threading
from rxagent import Agent, tool
from rxagent.testing import Reply, ScriptedModel, tool_call

@tool(timeout_s=0.01)
def stuck() -> None:
    threading.Event().wait()

model = ScriptedModel(Reply(calls=(tool_call("stuck"),)), "It is stuck.")
print(Agent(model, tools=[stuck]).call("Go").run().text)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == "It is stuck.\n"
    assert done.returncode == 0
