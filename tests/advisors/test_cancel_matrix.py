"""Leaving a turn at any event, on any executor: nothing runs after, nothing leaks."""

from __future__ import annotations

import asyncio
import gc
import threading
import tracemalloc
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager

import pytest
from reactivex import Observable
from reactivex import operators as ops

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.context import Key
from rxagent.events import ChatEvent, RoundFinished
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.runtime import iterate
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import (
    Executor,
    ToolContext,
    concurrent,
    futures,
    sequential,
    threads,
    tool,
)

EXECUTORS = ("sequential", "concurrent", "threads", "futures")
EVENTS = 31  # of the whole turn: 14 a round, and 3 of the answer


@contextmanager
def executor_of(name: str) -> Generator[Executor]:
    match name:
        case "sequential":
            yield sequential()
        case "concurrent":
            yield concurrent(max_concurrency=2)
        case "threads":
            with threads(max_workers=2) as executor:
                yield executor
        case _:
            with ThreadPoolExecutor(2) as pool:
                yield futures(pool)


class Log:
    """What tools do, from any thread."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.open = 0
        self.lock = threading.Lock()

    def start(self, name: str) -> None:
        with self.lock:
            self.started.append(name)


def agent_of(log: Log, executor: Executor) -> tuple[Agent, ScriptedModel]:
    @tool
    async def wait(text: str) -> str:
        """Wait for some turns of the loop."""
        log.start(f"wait {text}")
        log.open += 1
        try:
            for _ in range(3):
                await asyncio.sleep(0)
        finally:
            log.open -= 1
        return text

    @tool
    def plain(text: str) -> str:
        """Return at once."""
        log.start(f"plain {text}")
        return text

    @tool
    def watch(text: str) -> Observable[str]:
        """Report twice."""
        log.start(f"watch {text}")
        return just(text, f"{text}!")

    def three(letter: str) -> Reply:
        names = ("wait", "plain", "watch")
        return Reply(
            deltas=("let", "me"), calls=tuple(tool_call(n, text=letter) for n in names)
        )

    model = ScriptedModel(three("a"), three("b"), Reply(deltas=("do", "ne")))
    loop = tool_loop(executor=executor)
    return Agent(model, tools=[wait, plain, watch], advisors=[loop]), model


async def left_after(count: int, name: str) -> tuple[int, Log, ScriptedModel]:
    log = Log()
    with executor_of(name) as executor:
        agent, model = agent_of(log, executor)
        others = asyncio.all_tasks()
        events: list[ChatEvent] = []
        async with aclosing(iterate(agent.stream("go").pipe(ops.take(count)))) as flow:
            async for event in flow:
                events.append(event)
        started, requests = list(log.started), len(model.requests)
        for _ in range(20):
            await asyncio.sleep(0)
        assert log.open == 0, "an async tool was left running"
        assert asyncio.all_tasks() == others, "a task was left"
        assert len(model.requests) == requests, "the model was asked after the end"
        # A job that a pool had taken already may begin while the stream is left.
        assert len(log.started) - len(started) <= 1, "a tool started after the end"
    return len(events), log, model


@pytest.mark.parametrize("name", EXECUTORS)
def test_a_turn_may_be_left_at_every_event(name: str) -> None:
    """Laws 5 and 1: two rounds of three tools, on every executor."""
    whole, log, model = asyncio.run(left_after(1_000, name))
    assert whole == EVENTS
    assert sorted(log.started) == sorted(
        f"{kind} {letter}" for letter in "ab" for kind in ("wait", "plain", "watch")
    )
    model.assert_used_up()

    for count in range(1, whole):
        seen, log, model = asyncio.run(left_after(count, name))
        assert seen == count
        for request in model.requests:
            roles = [message.role for message in request.messages]
            assert roles == [
                "user",
                *["assistant", "tool", "tool", "tool"] * request.origin.round,
            ]


TOTAL = Key("total", int, reduce=lambda old, new: old + new)


def test_a_thousand_interleaved_turns_that_write_state_do_not_mix() -> None:
    """Law 7."""

    @tool
    async def add(n: int, me: ToolContext) -> int:
        """Add to the total."""
        await asyncio.sleep(0)
        me.set(TOTAL, n)
        return n

    def step(request: ChatRequest) -> Reply | str:
        if request.origin.round == 3:
            return f"total {request.context[TOTAL]}"
        n = int(request.messages[0].text)
        return Reply(calls=(tool_call("add", n=n), tool_call("add", n=n)))

    agent = Agent(ScriptedModel(step, repeat_last=True), tools=[add])

    async def all_of_them() -> list[str]:
        flows = [agent.call(str(n)) for n in range(1_000)]

        async def answer(n: int) -> str:
            return (await flows[n]).text

        return await asyncio.gather(*map(answer, range(1_000)))

    assert asyncio.run(all_of_them()) == [f"total {6 * n}" for n in range(1_000)]


def test_a_long_turn_costs_each_round_the_same_memory() -> None:
    """Law 9: what grows is the history, and no round keeps more than its messages."""
    rounds = 200

    @tool
    async def step(text: str) -> str:
        """Step."""
        return text

    calls = [Reply(calls=(tool_call("step", text="x" * 50),))] * rounds
    loop = tool_loop(max_rounds=None, max_calls=None, max_calls_per_tool=None)
    agent = Agent(ScriptedModel(*calls, "done"), tools=[step], advisors=[loop])
    sizes: list[int] = []
    at = (49, 99, 149, 199)

    async def watch() -> None:
        async with aclosing(iterate(agent.stream("go"))) as flow:
            async for event in flow:
                if isinstance(event, RoundFinished) and event.origin.round in at:
                    gc.collect()  # what is garbage is not kept
                    sizes.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        asyncio.run(watch())
    finally:
        tracemalloc.stop()

    early = (sizes[1] - sizes[0]) / 50
    late = (sizes[3] - sizes[2]) / 50
    # The model under test keeps every request, whose tuple of messages grows: 8 bytes a
    # message.  Everything else is the same in every round.
    assert late - early < 100 * 2 * 8 * 1.5 + 500
