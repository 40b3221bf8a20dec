"""Leaving a batch at any event, on every executor."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Iterator
from queue import SimpleQueue

import pytest
from reactivex import operators as ops

from rxagent.events import ToolFinished, ToolStarted
from rxagent.requests import ToolSpec
from rxagent.tools import Executor, ToolContext, ToolEvent, tool
from tests.tools.everywhere import IN_PROCESS, OPEN
from tests.tools.scene import batch_on, calling

PATIENCE_S = 10.0
CALLS = [
    calling("sleeper", id="0"),
    calling("plain", id="1"),
    calling("stream", id="2"),
]
# Each starts and finishes; one reports once, two report three times.
EVENTS = 13


class Scene:
    """Three tools, and what became of them."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.ended: list[str] = []
        self.returned: list[str] = []
        self.cancelled: list[str] = []
        self.events: list[ToolEvent] = []
        self.errors: list[Exception] = []

    @property
    def finished(self) -> list[ToolFinished]:
        return [each for each in self.events if isinstance(each, ToolFinished)]

    def tools(self) -> list[ToolSpec]:
        @tool
        async def sleeper(seen: ToolContext) -> str:
            self.ran.append("sleeper")
            try:
                for at in range(3):
                    seen.report(at)
                    await asyncio.sleep(0)
                self.returned.append("sleeper")
            except asyncio.CancelledError:
                self.cancelled.append("sleeper")
                raise
            finally:
                self.ended.append("sleeper")
            return "slept"

        @tool
        def plain(seen: ToolContext) -> str:
            self.ran.append("plain")
            seen.report("working")
            self.ended.append("plain")
            return "worked"

        @tool
        async def stream() -> AsyncGenerator[int]:
            self.ran.append("stream")
            try:
                for at in range(3):
                    yield at
                    await asyncio.sleep(0)
                self.returned.append("stream")
            except (asyncio.CancelledError, GeneratorExit):
                self.cancelled.append("stream")
                raise
            finally:
                self.ended.append("stream")

        return [sleeper, plain, stream]


async def left_at(executor: Executor, count: int) -> Scene:
    """Run the batch, and leave at the event of that number."""
    scene = Scene()
    done = asyncio.Event()

    def fail(error: Exception) -> None:
        scene.errors.append(error)
        done.set()

    source = batch_on(executor, CALLS, *scene.tools()).pipe(ops.take(count))
    source.subscribe(scene.events.append, fail, done.set)
    async with asyncio.timeout(PATIENCE_S):
        await done.wait()
        while len(asyncio.all_tasks()) > 1 or len(scene.ran) != len(scene.ended):
            await asyncio.sleep(0)
    return scene


@pytest.fixture(scope="module", params=IN_PROCESS)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with OPEN[request.param]() as opened:
        yield opened


def test_whoever_stays_hears_all_of_it(executor: Executor) -> None:
    scene = asyncio.run(left_at(executor, EVENTS))

    assert sorted(scene.ended) == ["plain", "sleeper", "stream"]
    assert len(scene.finished) == 3
    assert (scene.cancelled, scene.errors) == ([], [])


@pytest.mark.parametrize("count", range(1, EVENTS))
def test_leaving_at_any_event_stops_what_runs_and_starts_nothing_more(
    executor: Executor, count: int
) -> None:
    scene = asyncio.run(left_at(executor, count))

    assert len(scene.events) == count
    assert scene.errors == []
    # What has run was told before, and once.
    assert set(scene.ran) <= {
        event.call.name for event in scene.events if isinstance(event, ToolStarted)
    }
    assert len(scene.ran) == len(set(scene.ran))
    # Async code has ended by itself, or was cancelled.
    for name in {"sleeper", "stream"} & set(scene.ran):
        assert (name in scene.cancelled) or (name in scene.returned)


def test_leaving_while_all_wait_cancels_async_tools_and_abandons_the_others(
    executor: Executor,
    request: pytest.FixtureRequest,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """M-28."""
    in_turn = "sequential" in request.node.name
    go, cancelled = threading.Event(), list[str]()
    entered, left = SimpleQueue[threading.Thread](), SimpleQueue[str]()
    events: list[ToolEvent] = []

    async def main() -> None:
        @tool
        async def sleeper(seen: ToolContext) -> None:
            entered.put(threading.current_thread())
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(seen.call.id)
                raise

        @tool
        def plain() -> str:
            entered.put(threading.current_thread())
            assert go.wait(PATIENCE_S)
            left.put("ended")
            return "too late"

        names = ["sleeper", "sleeper", "sleeper" if in_turn else "plain"]
        calls = [calling(name, id=str(at)) for at, name in enumerate(names)]
        subscription = batch_on(executor, calls, sleeper, plain).subscribe(
            events.append, on_error=lambda _: None
        )
        async with asyncio.timeout(PATIENCE_S):
            while entered.qsize() < (1 if in_turn else 3):
                await asyncio.sleep(0)
            subscription.dispose()
            while len(asyncio.all_tasks()) > 1:
                await asyncio.sleep(0)

    with caplog.at_level(logging.INFO, logger="rxagent.tools"):
        asyncio.run(main())
        go.set()

    assert cancelled == (["0"] if in_turn else ["0", "1"])
    assert {type(event) for event in events} == {ToolStarted}
    abandoned = "tool 'plain' cannot be stopped where it runs; it goes on, "
    assert [record.message for record in caplog.records] == (
        [] if in_turn else [f"{abandoned}and nobody waits for it"]
    )
    if not in_turn:
        assert left.get(timeout=PATIENCE_S) == "ended"
