"""Law 5 over real HTTP: however a stream is left, the server sees it at once."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial

import pytest
from reactivex import Observable
from reactivex import operators as ops

from rxagent import Agent
from rxagent.events import ChatEvent
from rxagent.models import OpenAIChat
from rxagent.runtime import block, iterate, run
from tests.runtime.leaving import WAYS
from tests.runtime.upstream import SECONDS, Upstream, open_sockets

TIMES = 40  # of each of the five ways


def agent_of(upstream: Upstream) -> Agent:
    return Agent(OpenAIChat(model="m", base_url=upstream.base_url, api_key="k"))


async def has_left(upstream: Upstream) -> float:
    return await asyncio.to_thread(upstream.left.get, True, SECONDS)


async def settled(*, sockets: int = 1_000) -> None:
    """Let tasks that are about to end do so; fail if there are others.

    The same for ``sockets``, of which the server has its own to close.
    """
    until = time.monotonic() + SECONDS
    while asyncio.all_tasks() != {asyncio.current_task()} or open_sockets() > sockets:
        assert time.monotonic() < until, (asyncio.all_tasks(), open_sockets())
        await asyncio.sleep(0)


def own_threads() -> set[str]:
    """All but the loop's worker threads, of which it makes more when it likes."""
    names = {thread.name for thread in threading.enumerate()}
    return {name for name in names if not name.startswith("asyncio_")}


@pytest.mark.parametrize("way", WAYS)
def test_leaving_closes_the_connection_and_leaves_nothing(way: str) -> None:
    leave: Callable[[Observable[ChatEvent]], Awaitable[float]] = WAYS[way]

    async def scenario() -> None:
        agent = agent_of(upstream)
        await leave(agent.stream("hi"))  # builds the client
        await has_left(upstream)
        await settled()
        sockets, threads = open_sockets(), own_threads()
        for _ in range(TIMES):
            left_at = await leave(agent.stream("hi"))
            assert await has_left(upstream) >= left_at
        await settled(sockets=sockets)
        assert own_threads() == threads

    with Upstream(items=3) as upstream:
        asyncio.run(scenario(), debug=True)


def test_leaving_before_a_byte_has_come_closes_the_connection() -> None:
    async def scenario() -> None:
        subscription = agent_of(upstream).stream("hi").subscribe()
        await asyncio.to_thread(upstream.asked.get, True, SECONDS)
        subscription.dispose()
        await has_left(upstream)
        await settled()

    with Upstream(items=0) as upstream:
        asyncio.run(scenario(), debug=True)


def test_leaving_while_the_reader_is_behind_closes_the_connection() -> None:
    """The source is paused then, and must wake up to be cancelled."""

    async def scenario() -> None:
        async with aclosing(iterate(agent.stream("hi"), maxsize=4)) as items:
            await anext(items)
            await asyncio.to_thread(upstream.stalled)
        await has_left(upstream)
        await settled()

    with Upstream(items=10_000, chars=10_000) as upstream:
        agent = agent_of(upstream)
        asyncio.run(scenario(), debug=True)

        blocking = block(agent.stream("hi"), maxsize=4)
        next(blocking)
        blocking.close()
        upstream.left.get(timeout=SECONDS)


def test_leaving_on_the_portal_closes_the_connection() -> None:
    with Upstream(items=3) as upstream:
        agent = agent_of(upstream)
        for _ in range(20):
            for _ in agent.stream("hi"):
                break
            upstream.left.get(timeout=SECONDS)
            run(agent.stream("hi").pipe(ops.take(1)))
            upstream.left.get(timeout=SECONDS)
        assert upstream.left.empty()


def test_leaving_while_the_answer_ends_leaves_no_connection() -> None:
    """The cancellation may hit what closes the response."""

    async def scenario() -> None:
        for turns in range(40):  # of the loop, until the reader leaves
            arrived = asyncio.Event()
            subscription = agent.stream("hi").subscribe(partial(_set, arrived))
            await arrived.wait()
            for _ in range(turns % 10):
                await asyncio.sleep(0)
            subscription.dispose()
        await settled(sockets=sockets + 6)  # both ends of some that are kept

    with Upstream(items=1, then="end") as upstream:
        agent = agent_of(upstream)
        sockets = open_sockets()
        asyncio.run(scenario(), debug=True)


def test_a_model_that_goes_with_its_loop_takes_its_connections_along() -> None:
    """Warnings are errors, and an unclosed connection is one."""

    async def scenario() -> None:
        agent = agent_of(upstream)
        await asyncio.gather(*(_call(agent) for _ in range(5)))

    with Upstream(items=1, then="end") as upstream:
        sockets = open_sockets()
        asyncio.run(scenario())
        gc.collect()
        assert open_sockets() <= sockets


def _set(arrived: asyncio.Event, _: ChatEvent) -> None:
    arrived.set()


async def _call(agent: Agent) -> None:
    await agent.call("hi")
