"""A slow reader pauses the server, shown by a server that counts what it could send."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from reactivex import operators as ops
from reactivex.scheduler import EventLoopScheduler

from rxagent import Agent, Finished
from rxagent.models import OpenAIChat
from rxagent.runtime import block, iterate
from tests.runtime.upstream import SECONDS, Upstream

ITEMS, CHARS = 1_000, 10_000  # 10 MB
MAXSIZE = 16
# What waits in the kernel and in the transport, on both sides, before it reaches us.
BUFFERS = 4_000_000 // CHARS


def agent_of(upstream: Upstream) -> Agent:
    return Agent(OpenAIChat(model="m", base_url=upstream.base_url, api_key="k"))


@pytest.mark.parametrize("maxsize", [1, MAXSIZE])
def test_iterate_pauses_the_server_and_loses_nothing(maxsize: int) -> None:
    async def scenario() -> tuple[int, int]:
        events = iterate(agent_of(upstream).stream("hi"), maxsize=maxsize)
        async with aclosing(events):
            await anext(events)
            taken = await asyncio.to_thread(upstream.stalled)
            rest = [event async for event in events]
        assert isinstance(rest[-1], Finished)
        return taken, len(rest)

    with Upstream(items=ITEMS, chars=CHARS, then="end") as upstream:
        taken, rest = asyncio.run(scenario())
    assert taken <= maxsize + BUFFERS < ITEMS / 2
    assert rest == ITEMS  # one was read before, and Finished came


def test_block_pauses_the_server_and_loses_nothing() -> None:
    with Upstream(items=ITEMS, chars=CHARS, then="end") as upstream:
        events = block(agent_of(upstream).stream("hi"), maxsize=MAXSIZE)
        next(events)
        taken = upstream.stalled()
        rest = list(events)
    assert taken <= MAXSIZE + BUFFERS < ITEMS / 2
    assert isinstance(rest[-1], Finished)
    assert len(rest) == ITEMS


def test_block_pauses_the_server_through_another_thread() -> None:
    """As in a GUI, whose scheduler stands between the source and the reader."""
    scheduler = EventLoopScheduler()
    with Upstream(items=ITEMS, chars=CHARS, then="end") as upstream:
        observed = agent_of(upstream).stream("hi").pipe(ops.observe_on(scheduler))
        events = block(observed, maxsize=MAXSIZE)
        next(events)
        taken = upstream.stalled()
        assert len(list(events)) == ITEMS
    scheduler.dispose()
    assert taken <= MAXSIZE + BUFFERS < ITEMS / 2


def test_a_lossy_buffer_pauses_nobody() -> None:
    """What the other tests would see if nothing were paused: the server sent it all."""

    async def scenario() -> list[object]:
        events = iterate(
            agent_of(upstream).stream("hi"), maxsize=MAXSIZE, overflow="drop_oldest"
        )
        async with aclosing(events):
            await anext(events)
            while upstream.sent < ITEMS:
                await asyncio.sleep(0)
            return [event async for event in events]

    with Upstream(items=ITEMS, chars=CHARS, then="end") as upstream:
        rest = asyncio.run(asyncio.wait_for(scenario(), SECONDS))
    assert len(rest) <= MAXSIZE + BUFFERS
    assert isinstance(rest[-1], Finished)
