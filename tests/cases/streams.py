"""Cases about streams as such: who leaves when, and what is open then.

Their input is prose, so each has a scene of its own, with a real server where the case
wants one.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any, cast

from reactivex import ConnectableObservable, Observable
from reactivex import operators as ops

from rxagent import Agent, tool
from rxagent.events import ChatEvent, TextDelta
from rxagent.messages import UserMessage
from rxagent.models import OpenAIChat
from rxagent.operators import just
from rxagent.patience import Timeouts
from rxagent.requests import ChatRequest
from rxagent.runtime import Flow
from rxagent.testing import Reply, ScriptedModel, tool_call
from tests.cases.case import Case, Cutting, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.loopback import Send, chunk, loopback
from tests.cases.matchers import check
from tests.cases.words import check_error, found, listen

__all__ = ["check_stream"]

DONE = b"data: [DONE]\n\n"


def check_stream(case: Case, cutting: Cutting) -> None:
    """Do what the case tells."""
    del cutting
    if case.id not in _SCENES:
        raise NotSupportedError(f"there is no scene for {case.id}")
    asyncio.run(_SCENES[case.id](case.given["given"], case.expect))
    gc.collect()  # what was left open warns now, and warnings are errors


def ask(model: OpenAIChat, text: str = "hi") -> Flow[ChatEvent]:
    request = ChatRequest(messages=(UserMessage.of(text),))
    return Flow[ChatEvent].of(just(request).pipe(model))


async def consumer_stops(given: Json, expect: Json) -> None:
    del given  # sends a delta every 20 ms for 10 s

    async def script(body: Json, send: Send) -> None:
        for _ in range(500):
            await send(chunk({"content": "a"}))
            await asyncio.sleep(0.02)

    async with loopback(script) as server:
        model = OpenAIChat(model="m", base_url=server.base_url, api_key="k")
        mine = asyncio.all_tasks()
        for _ in range(expect["repeat"]):
            first = ask(model).pipe(
                ops.filter(lambda event: isinstance(event, TextDelta)), ops.take(1)
            )
            assert await first == TextDelta(text="a")
            seconds = expect["server_sees_close_within_ms"] / 1000
            await asyncio.wait_for(server.hung_up.get(), seconds)
        await asyncio.gather(*asyncio.all_tasks() - mine)
        assert server.open == expect["open_connections_after"]


async def idle_timeout(given: Json, expect: Json) -> None:
    async def script(body: Json, send: Send) -> None:
        await send(chunk({"content": "a"}))
        await asyncio.sleep(60)

    async with loopback(script) as server:
        timeouts = Timeouts(gap_s=given["options"]["idle_timeout_ms"] / 1000)
        model = OpenAIChat(
            model="m", base_url=server.base_url, api_key="k", timeouts=timeouts
        )
        started = time.monotonic()
        outcome = await listen(ask(model))
        assert time.monotonic() - started <= expect["ends_within_ms"] / 1000
        check(expect["text"], found(outcome)["text"])
        check_error(expect["error"], outcome.error)
        seconds = expect["server_sees_close_within_ms"] / 1000
        await asyncio.wait_for(server.hung_up.get(), seconds)


async def slow_but_alive(given: Json, expect: Json) -> None:
    async def script(body: Json, send: Send) -> None:
        for _ in range(10):
            await send(b": hb\n\n")
            await asyncio.sleep(0.1)
        await send(chunk({"content": "ok"}, "stop") + DONE)

    async with loopback(script) as server:
        for variant, wanted in zip(given["variants"], expect["variants"], strict=True):
            whole = variant["total_timeout_ms"]
            timeouts = Timeouts(
                gap_s=variant["idle_timeout_ms"] / 1000,
                turn_s=None if whole is None else whole / 1000,
            )
            model = OpenAIChat(
                model="m", base_url=server.base_url, api_key="k", timeouts=timeouts
            )
            started = time.monotonic()
            outcome = await listen(ask(model))
            seconds = time.monotonic() - started
            assert seconds <= wanted.get("ends_within_ms", inf) / 1000
            if "text" in wanted:
                check(wanted["text"], found(outcome)["text"])
            check_error(wanted["error"], outcome.error)


async def two_at_once(given: Json, expect: Json) -> None:
    """The pieces of X and Y alternate: neither goes on before the other has."""

    async def script(body: Json, send: Send) -> None:
        who = body["messages"][0]["content"]
        pieces: list[Json] = [
            {"id": f"c{who}", "function": {"name": f"f{who}", "arguments": ""}},
            *({"function": {"arguments": part}} for part in ('{"', "wh", 'o":', '"')),
            {"function": {"arguments": f'{who}"}}'}},
        ]
        for piece in pieces:
            await turns[who].get()
            await send(chunk({"tool_calls": [{"index": 0, **piece}]}))
            turns[other[who]].put_nowait(None)
        await send(chunk({}, "tool_calls") + DONE)

    other = {"x": "y", "y": "x"}
    for _ in range(expect["repeat"]):
        turns = {who: asyncio.Queue[None]() for who in other}
        turns["x"].put_nowait(None)
        async with loopback(script) as server:
            model = OpenAIChat(model="m", base_url=server.base_url, api_key="k")
            x, y = await asyncio.gather(
                listen(ask(model, "x")), listen(ask(model, "y"))
            )
        check({"X": expect["X"], "Y": expect["Y"]}, {"X": found(x), "Y": found(y)})


async def subscribed_twice(given: Json, expect: Json) -> None:
    del given  # one tool call, then text; the tool counts its runs
    runs = 0

    @tool
    async def count() -> int:
        """Count my runs."""
        nonlocal runs
        runs += 1
        return runs

    turn = (Reply(calls=(tool_call("count"),)), "done")
    model = ScriptedModel(*turn, *turn)
    flow = Agent(model, tools=[count]).stream("go")

    shared = cast("ConnectableObservable[ChatEvent]", flow.pipe(ops.publish()))
    a, b = _subscribed(shared), _subscribed(shared)
    shared.connect()
    events_a, events_b = await asyncio.gather(a, b)
    assert expect["A_equals_B"] is (events_a == events_b)
    check(expect["requests_total"], len(model.requests), "$.requests_total")
    check(expect["tool_runs"], runs, "$.tool_runs")

    again = await listen(flow)
    assert len(again.events) == len(events_a)
    assert (len(model.requests), runs) == (4, 2)
    check(expect["late_subscriber"], "new run (documented)", "$.late_subscriber")


def _subscribed(source: Observable[ChatEvent]) -> asyncio.Future[list[ChatEvent]]:
    """Subscribe at once; the future is what came, at the end."""
    events: list[ChatEvent] = []
    end = asyncio.get_running_loop().create_future()
    source.subscribe(events.append, end.set_exception, lambda: end.set_result(events))
    return end


_SCENES: dict[str, Callable[[Json, Json], Coroutine[Any, Any, None]]] = {
    "stream-consumer-stops": consumer_stops,
    "stream-idle-timeout": idle_timeout,
    "stream-slow-but-alive": slow_but_alive,
    "stream-subscribed-twice": subscribed_twice,
    "stream-two-at-once": two_at_once,
}
