"""The shorter form of ``bench/leak.py``: counts, where that one measures memory."""

from __future__ import annotations

import asyncio

from rxagent import Agent
from rxagent.models import OpenAIChat
from rxagent.runtime._portal import Portal
from tests.runtime.load import Census, call, census, in_memory, stream
from tests.runtime.upstream import SECONDS, Upstream

CALLS, STREAMS = 300, 3_000


def agent_of(upstream: Upstream) -> Agent:
    return Agent(OpenAIChat(model="m", base_url=upstream.base_url, api_key="k"))


def test_calls_over_http_leave_nothing() -> None:
    async def scenario() -> dict[str, int]:
        await at_once(agent)  # what the pool keeps is no leak
        before = await census()
        for _ in range(CALLS // 10):
            await at_once(agent)
            for _ in range(5):
                await call(agent)
        return (await census()).grown_since(before)

    with Upstream(items=3, then="end") as upstream:
        agent = agent_of(upstream)
        assert asyncio.run(scenario(), debug=False) == {}


async def at_once(agent: Agent) -> None:
    await asyncio.gather(*(call(agent) for _ in range(5)))


def test_streams_that_end_and_streams_that_are_left_leave_nothing() -> None:
    async def scenario() -> dict[str, int]:
        async with in_memory() as agent:
            for number in range(20):
                await stream(agent, number)
            before = await census()
            for number in range(STREAMS):
                await stream(agent, number)
            return (await census()).grown_since(before)

    assert asyncio.run(scenario(), debug=False) == {}


def test_runs_and_for_loops_on_the_portal_leave_nothing() -> None:
    def counted() -> Census:
        counting = asyncio.run_coroutine_threadsafe(census(), Portal.current().loop)
        return counting.result(SECONDS)

    with Upstream(items=3, then="end") as ends, Upstream() as hangs:
        answering, hanging = agent_of(ends), agent_of(hangs)
        answering.call("hi").run()
        before = counted()
        for _ in range(CALLS // 6):
            answering.call("hi").run()
            assert len(list(answering.stream("hi"))) == 4
            for _ in hanging.stream("hi"):
                break
            hangs.left.get(timeout=SECONDS)
        assert counted().grown_since(before) == {}


def test_a_leak_would_be_seen() -> None:
    async def scenario() -> dict[str, int]:
        async with in_memory() as agent:
            before = await census()
            kept = [agent.stream("hi") for _ in range(50)]
            grown = (await census()).grown_since(before)
            assert len(kept) == 50
            return grown

    assert asyncio.run(scenario())["rxagent.runtime._flow.Flow"] >= 50
