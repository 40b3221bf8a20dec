from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor as FuturesExecutor
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from queue import SimpleQueue

import pytest
from reactivex import Observable

from rxagent.errors import ToolError
from rxagent.events import ToolFinished, ToolProgress, ToolStarted
from rxagent.operators import concat_each, just
from rxagent.requests import ToolSpec
from rxagent.runtime import LoopScheduler, block, iterate
from rxagent.tools import (
    Answer,
    CallSettings,
    Executor,
    Job,
    Outcome,
    ToolEvent,
    concurrent,
    futures,
    sequential,
    threads,
    tool,
)
from rxagent.tools.threads import in_thread
from tests.tools import far_tools as far
from tests.tools.everywhere import OPEN, spawned
from tests.tools.scene import batch_on, calling, ends, failed, finished
from tests.virtual_loop import VirtualLoop, run_virtual

PATIENCE_S = 10.0
TWO = [calling("it", id="0"), calling("it", id="1")]


def of(executor: Executor, spec: ToolSpec, calls: int = 1) -> list[ToolFinished]:
    """The results of so many calls of a tool."""
    wanted = [calling(spec.name, id=str(at)) for at in range(calls)]
    return ends(block(batch_on(executor, wanted, spec)))


async def here(source: Observable[ToolEvent]) -> list[ToolEvent]:
    async with aclosing(iterate(source)) as events:
        return [event async for event in events]


@pytest.mark.parametrize("count", [1, 2])
def test_sequential_runs_functions_where_the_stream_runs_one_after_the_other(
    count: int,
) -> None:
    """S000-22, S000-23, S000-28."""
    trail: list[tuple[str, int]] = []
    before = threading.active_count()

    @tool(name="it")
    def plain() -> int:
        trail.append(("in", threading.get_ident()))
        assert threading.active_count() == before
        trail.append(("out", threading.get_ident()))
        return 7

    events = asyncio.run(here(batch_on(sequential(), TWO[:count], plain)))

    home = threading.get_ident()
    assert trail == [("in", home), ("out", home)] * count
    assert events[1::2] == [finished(call, "7", value=7) for call in TWO[:count]]


@pytest.mark.parametrize("limit", ["tool", "executor", "turn"])
def test_sequential_looks_at_the_clock_between_the_items_of_a_generator(
    limit: str,
) -> None:
    """S000-33, M-31: it is closed one item after the one that came too late."""
    came: list[int | str] = []
    loops: list[VirtualLoop] = []

    @tool(name="it", timeout_s=5 if limit == "tool" else None)
    def steps() -> Iterator[int]:
        try:
            for item in range(1_000):  # in truth without end
                loops[0].jump(2)
                came.append(item)
                yield item
        finally:
            came.append("closed")

    async def run() -> list[ToolFinished]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loops.append(loop)
        clock = LoopScheduler(loop)
        deadline = clock.now + timedelta(seconds=5) if limit == "turn" else None
        source = batch_on(
            sequential(timeout_s=5 if limit == "executor" else None),
            TWO[:1],
            steps,
            settings=CallSettings(deadline=deadline),
        )
        return ends(await here(source))

    (done,), took_s = run_virtual(run())

    assert done.failure == "transient"
    assert "no result after 5 s" in done.message.text
    assert came == [0, 1, 2, 3, "closed"]
    assert took_s == 8


def test_sequential_lets_others_go_on_between_the_items_of_a_generator() -> None:
    @tool(name="it")
    def steps() -> Iterator[int]:
        yield from range(5)

    async def run() -> list[str]:
        seen: list[str] = []

        async def other() -> None:
            seen.append("other")

        others: list[asyncio.Future[None]] = []
        source = batch_on(sequential(), TWO[:1], steps)
        async with aclosing(iterate(source)) as events:
            async for event in events:
                if isinstance(event, ToolProgress):
                    seen.append(str(event.value))
                    if event.value == 0:
                        others.append(asyncio.ensure_future(other()))
        await asyncio.gather(*others)
        return seen

    assert asyncio.run(run()).index("other") < 5


def test_sequential_steps_and_closes_generators_there_too() -> None:
    """S000-23."""
    seen: list[int] = []

    @tool(name="it")
    def steps() -> Iterator[int]:
        try:
            seen.append(threading.get_ident())
            yield 1
            yield 2
        finally:
            seen.append(threading.get_ident())

    async def main() -> None:
        async with aclosing(iterate(batch_on(sequential(), TWO[:1], steps))) as events:
            async for event in events:
                if not isinstance(event, ToolStarted):
                    break
        await asyncio.sleep(0)

    asyncio.run(main())

    assert seen == [threading.get_ident()] * 2


def test_slow_tools_keep_nobody_elses_from_running() -> None:
    """S000-25: a thread pool of the loop, that all share, would be full."""
    go = threading.Event()

    @tool(name="it")
    def slow() -> None:
        assert go.wait(PATIENCE_S)

    async def main() -> str:
        calls = [calling("it", id=str(at)) for at in range(64)]
        others = batch_on(concurrent(max_concurrency=64), calls, slow)
        waiting = asyncio.ensure_future(here(others))
        await asyncio.sleep(0)
        call = calling("add", '{"a":1}')
        found = ends(await here(batch_on(concurrent(), [call], far.add)))
        assert not waiting.done()
        # And what else the program does in threads.
        await asyncio.to_thread(go.set)
        assert len(ends(await waiting)) == 64
        return found[0].message.text

    assert asyncio.run(main()) == "2"


def test_a_pool_of_threads_is_shared_by_all_turns_and_never_larger() -> None:
    """S000-24, M-34."""
    lock, inside, most = threading.Lock(), 0, 0

    @tool(name="it")
    def work() -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.001)  # what another would need to get in
        with lock:
            inside -= 1

    async def main(executor: Executor) -> None:
        calls = [calling("it", id=str(at)) for at in range(10)]
        await asyncio.gather(*(here(batch_on(executor, calls, work)) for _ in range(5)))

    with threads(max_workers=3) as executor:
        asyncio.run(main(executor))

    assert most <= 3


def test_a_closed_pool_is_a_failure_of_the_environment() -> None:
    """S000-24, M-24, M-66."""
    with threads(max_workers=1) as executor:
        assert of(executor, far.lazy)[0].value == [1, 2]
    executor.close()
    executor.close()

    (end,) = of(executor, far.lazy)

    call = calling("lazy", id="0")
    said = "ToolFailedError: the thread pool of the tools is closed"
    assert end == failed(call, said, kind="environment")
    assert [e.value for e in of(executor, far.wait_on)] == [None]


def test_a_call_that_waits_while_its_pool_is_closed_is_told_so() -> None:
    """M-24."""
    go, entered = threading.Event(), SimpleQueue[str]()

    @tool(name="it")
    def slow() -> str:
        entered.put("entered")
        assert go.wait(PATIENCE_S)
        return "ended"

    async def main() -> list[ToolFinished]:
        executor = threads(max_workers=1)
        first = asyncio.ensure_future(here(batch_on(executor, TWO[:1], slow)))
        while entered.empty():
            await asyncio.sleep(0)
        second = asyncio.ensure_future(here(batch_on(executor, TWO[1:], slow)))
        while not executor._pool._threads._waiting:
            await asyncio.sleep(0)
        executor.close()
        await second
        go.set()
        return ends([*await first, *await second])

    one, other = asyncio.run(main())

    assert one.value == "ended"
    assert (other.failure, other.message.is_error) == ("environment", True)


def test_futures_never_closes_what_it_was_given() -> None:
    with ThreadPoolExecutor(1) as pool:
        of(futures(pool), far.lazy)

        assert pool.submit(int).result(PATIENCE_S) == 0


@pytest.mark.parametrize("count", [1, 2])
def test_an_executor_that_takes_no_more_is_a_failure_of_the_environment(
    count: int,
) -> None:
    """M-24."""
    pool = ThreadPoolExecutor(1)
    pool.shutdown()

    found = of(futures(pool), far.lazy, calls=count)

    assert [end.failure for end in found] == ["environment"] * count
    assert "takes no more calls" in found[0].message.text


class Strange(FuturesExecutor):
    """An executor that refuses, drops or keeps what it is given."""

    def __init__(self, error: Exception | None = None, *, drops: bool = False) -> None:
        self.error, self.drops = error, drops
        self.given: list[Future[object]] = []

    def submit(self, *_: object, **__: object) -> Future[object]:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.error is not None:
            raise self.error
        future: Future[object] = Future()
        self.given.append(future)
        if self.drops:
            future.cancel()
        return future


def test_a_call_that_an_executor_drops_is_a_failure_of_the_environment() -> None:
    (end,) = of(futures(Strange(drops=True)), far.lazy)

    assert end.failure == "environment"
    assert "dropped the call" in end.message.text


def test_a_call_that_cannot_be_given_to_an_executor_is_no_result() -> None:
    with pytest.raises(ToolError, match="'lazy' cannot be given to the executor: odd"):
        of(futures(Strange(TypeError("odd"))), far.lazy)


def test_leaving_takes_a_call_back_from_the_executor() -> None:
    executor = Strange()

    async def main() -> None:
        source = batch_on(
            futures(executor), TWO[:1], tool(far.lazy.function, name="it")
        )
        subscription = source.subscribe(on_error=lambda _: None)
        while not executor.given:
            await asyncio.sleep(0)
        subscription.dispose()
        while not executor.given[0].done():
            await asyncio.sleep(0)

    asyncio.run(main())

    assert executor.given[0].cancelled()


def test_a_worker_that_is_killed_is_a_failure_of_the_environment() -> None:
    with spawned(1) as pool:
        (killed,) = of(futures(pool), far.kill)
        (after,) = of(futures(pool), far.lazy)

    assert (killed.failure, killed.attempts) == ("environment", 1)
    assert "BrokenProcessPool" in killed.message.text
    assert (after.failure, after.attempts) == ("environment", 1)


@pytest.mark.parametrize("name", ["processes", "dask processes"])
def test_what_cannot_travel_is_an_error_that_says_so_and_breaks_nothing(
    name: str,
) -> None:
    with OPEN[name]() as executor:
        cases: list[tuple[ToolSpec, str]] = [
            (far.lock, "cannot come back from another process"),
            (far.stubborn, "cannot be read in this process"),
            (far.key_with_a_lambda, "the reduce of a key must stand in a module"),
        ]
        for each, says in cases:
            with pytest.raises(ToolError, match=says):
                of(executor, each)
        (odd,) = of(executor, far.fail_demandingly)
        assert odd.message.text == "ToolFailedError: DemandingError: 4: odd"
        assert of(executor, far.lazy)[0].value == [1, 2]


def test_a_function_that_no_module_shows_cannot_go_to_a_process() -> None:
    @tool(name="it")
    def hidden() -> int:
        return 1

    with spawned(1) as pool, pytest.raises(ToolError, match="must stand in a module"):
        list(block(batch_on(futures(pool), TWO[:1], hidden)))


def test_a_function_runs_in_another_process() -> None:
    with spawned(1) as pool:
        (end,) = of(futures(pool), far.pid)

        assert end.value in pool._processes


@pytest.mark.parametrize("name", ["dask threads", "dask processes"])
def test_a_cluster_runs_equal_calls_each(name: str, tmp_path: Path) -> None:
    path = tmp_path / "marks"
    calls = [
        calling("mark", f'{{"path":"{path}","text":"x"}}', id=str(at))
        for at in range(5)
    ]

    with OPEN[name]() as executor:
        list(block(batch_on(executor, calls, far.mark)))

    assert path.read_text() == "xxxxx"


def test_an_abandoned_call_of_an_executor_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    go, entered = threading.Event(), SimpleQueue[str]()

    @tool(name="it")
    def slow() -> str:
        entered.put("entered")
        assert go.wait(PATIENCE_S)
        raise ValueError("too late")

    async def main(pool: ThreadPoolExecutor) -> None:
        source = batch_on(futures(pool), TWO[:1], slow)
        subscription = source.subscribe(on_error=lambda _: None)
        while entered.empty():
            await asyncio.sleep(0)
        subscription.dispose()

    with (
        caplog.at_level(logging.INFO, logger="rxagent.tools"),
        ThreadPoolExecutor(1) as pool,
    ):
        asyncio.run(main(pool))
        go.set()

    assert [record.message.partition(";")[0] for record in caplog.records] == [
        "tool 'it' cannot be stopped where it runs",
        "tool 'it' failed, abandoned",
    ]


class Ranked:
    """Runs the calls that its user ranks first before the others, one at a time."""

    timeout_s = None

    def __init__(self, rank: Callable[[Answer], int]) -> None:
        self._rank = rank

    def __call__(self, answers: Sequence[Answer]) -> Observable[ToolEvent]:
        def start(answer: Answer) -> Observable[ToolEvent]:
            return answer.start(in_thread)

        return just(*sorted(answers, key=self._rank)).pipe(concat_each(start))


def test_an_executor_of_ones_own_decides_what_runs_when() -> None:
    """S000-21, S000-26, S000-35."""
    ranked = Ranked(lambda answer: -int(answer.call.id))
    calls = [calling("lazy", id=str(at)) for at in range(3)]

    events = list(block(batch_on(ranked, calls, far.lazy)))

    assert [e.call.id for e in events if isinstance(e, ToolStarted)] == ["2", "1", "0"]
    assert [end.value for end in ends(events)] == [[1, 2]] * 3


def test_a_place_to_run_of_ones_own_needs_one_function() -> None:
    """S000-37: what a tool talks to is its function's business."""
    ran: list[str] = []

    async def noted(job: Job, began: Callable[[], None] | None) -> Outcome:
        ran.append(job.tool)
        return await in_thread(job, began)

    def executor(answers: Sequence[Answer]) -> Observable[ToolEvent]:
        def start(answer: Answer) -> Observable[ToolEvent]:
            return answer.start(noted)

        return just(*answers).pipe(concat_each(start))

    class Noted:
        timeout_s = None
        __call__ = staticmethod(executor)

    assert [end.value for end in of(Noted(), far.lazy, calls=2)] == [[1, 2]] * 2
    assert ran == ["lazy", "lazy"]


def test_an_async_tool_runs_on_the_loop_on_every_executor() -> None:
    @tool(name="it")
    async def where() -> int:
        return threading.get_ident()

    for name in ("sequential", "concurrent", "threads", "thread futures"):
        with OPEN[name]() as executor:
            found = ends(asyncio.run(here(batch_on(executor, TWO, where))))
            assert [end.value for end in found] == [threading.get_ident()] * 2
