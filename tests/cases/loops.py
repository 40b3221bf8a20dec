"""Cases about the tool loop: a scripted provider over the wire, and real tools."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from rxagent import Agent
from rxagent.advisors import tool_loop
from rxagent.events import ChatEvent
from rxagent.runtime import Flow
from rxagent.tools import Tool
from rxagent.types import Advisor
from tests.cases.answers import model_of
from tests.cases.case import Case, Cutting, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.invariants import check_invariants, neutral_messages
from tests.cases.matchers import check
from tests.cases.replay import Replay, streamed
from tests.cases.words import Outcome, listen

__all__ = ["check_tool_loop"]

_LIMITS = {
    "max_rounds": "max_rounds",
    "max_tool_calls": "max_calls",
    "max_tool_result_chars": "max_result_chars",
}
_KNOWN = {
    "final_text",
    "tool_executions",
    "requests",
    "requests_total",
    "outcome",
    "outcome_message",
    "tool_finished",
    "ends_within_ms",
    "invariants",
}


@dataclass(slots=True, kw_only=True)
class _Run:
    """What was seen of one run of an agent."""

    started: list[Json] = field(default_factory=list[Json])
    finished: list[str] = field(default_factory=list[str])
    requests: list[Json] = field(default_factory=list[Json])
    outcome: Outcome = field(default_factory=Outcome)
    cancelled: bool = False
    seconds: float = 0.0


def check_tool_loop(case: Case, cutting: Cutting) -> None:
    """Run an agent, and look at what it ran, sent and said."""
    del cutting
    expect = case.expect
    if unknown := expect.keys() - _KNOWN:
        raise NotSupportedError(f"this reader does not know {unknown}")
    run = asyncio.run(_run(case))

    response = run.outcome.response
    outcome, message = _ended(run)
    told: Json = {
        "final_text": response.text if response else None,
        "tool_executions": run.started,
        "tool_finished": run.finished,
        "requests_total": len(run.requests),
        "outcome": outcome,
        "outcome_message": message,
    }
    assert outcome == expect.get("outcome", "ok"), message
    check({name: expect[name] for name in expect.keys() & told.keys()}, told)
    assert run.seconds * 1000 <= expect.get("ends_within_ms", run.seconds * 1000)
    for body in run.requests:
        check_invariants(expect.get("invariants", []), neutral_messages(body))
    for number, about in expect.get("requests", {}).items():
        _check_request(about, neutral_messages(run.requests[int(number)]))


def _check_request(about: Json, messages: list[Json]) -> None:
    if unknown := about.keys() - {"messages_end", "tool_contents_in_order"}:
        raise NotSupportedError(f"this reader does not know {unknown}")
    if (end := about.get("messages_end")) is not None:
        check(end, messages[-len(end) :], "$.messages_end")
    if (contents := about.get("tool_contents_in_order")) is not None:
        found = [each["content"] for each in messages if each["role"] == "tool"]
        check(contents, found, "$.tool_contents_in_order")


def _ended(run: _Run) -> tuple[str, str | None]:
    """How a run ended, and in which words."""
    response = run.outcome.response
    if run.cancelled:
        return "cancelled", None
    if run.outcome.error is not None:
        return "error", str(run.outcome.error)
    assert response is not None, "the flow completed without an end"
    if response.limit is not None:
        return "limit", response.limit.message
    return "ok", None


async def _run(case: Case) -> _Run:
    run = _Run()
    given = case.given
    turns: list[Json] = given["model_turns"]
    last = (lambda: streamed(turns[-1])) if given.get("repeat_last_turn") else None
    transport = Replay([streamed(turn) for turn in turns], again=last)
    run.requests = transport.requests
    async with httpx.AsyncClient(transport=transport) as client:
        agent = Agent(
            model_of(client),
            tools=[_tool(each, run) for each in given["tools"]],
            advisors=[_loop(given.get("limits", {}))],
        )
        started = time.monotonic()
        flow = agent.stream(given["user"])
        if "cancel_after_ms" in given:
            await _cancel(flow, given["cancel_after_ms"] / 1000)
            run.cancelled = True
        else:
            run.outcome = await listen(flow)
        run.seconds = time.monotonic() - started
    return run


async def _cancel(flow: Flow[ChatEvent], after_s: float) -> None:
    """Dispose of a subscription, and wait until nothing of it runs any more."""
    mine = asyncio.all_tasks()
    loop = asyncio.get_running_loop()
    gone: asyncio.Future[None] = loop.create_future()
    subscription = flow.subscribe(on_error=gone.set_exception)

    def leave() -> None:
        subscription.dispose()
        if not gone.done():
            gone.set_result(None)

    loop.call_later(after_s, leave)
    await gone
    await asyncio.gather(*asyncio.all_tasks() - mine, return_exceptions=True)


def _loop(limits: dict[str, int]) -> Advisor:
    if unknown := limits.keys() - _LIMITS.keys():
        raise NotSupportedError(f"limits {unknown}")
    settings = {_LIMITS[name]: value for name, value in limits.items()}
    return tool_loop(
        max_rounds=settings.get("max_rounds", 10),
        max_calls=settings.get("max_calls", 150),
        max_result_chars=settings.get("max_result_chars"),
    )


def _tool(given: Json, run: _Run) -> Tool[..., object]:
    name: str = given["name"]
    behave = _behavior(given["behavior"])

    async def function(**arguments: object) -> object:
        run.started.append({"name": name, "arguments": arguments})
        result = await behave()
        run.finished.append(name)
        return result

    return Tool.from_schema(
        function, name=name, description="", parameters=given["parameters"]
    )


def _behavior(given: Json) -> Callable[[], Awaitable[Any]]:
    if unknown := given.keys() - _BEHAVIORS:
        raise NotSupportedError(f"behavior {unknown}")
    runs = iter(given.get("returns_sequence", ()))

    def result() -> Any:
        match given:
            case {"raises": kind, "message": message}:
                raise _EXCEPTIONS.get(kind, RuntimeError)(message)
            case {"returns_python": expression}:
                cycle: list[object] = []
                cycle.append(cycle)
                return eval(expression, {"cycle": cycle})
            case {"returns_repeat": {"text": text, "times": times}}:
                return text * times
            case {"returns_sequence": _}:
                return next(runs)
            case _:
                return given["returns"]

    async def behave() -> Any:
        if "sleep_ms" in given:
            await asyncio.sleep(given["sleep_ms"] / 1000)
        return result()

    return behave


_BEHAVIORS = {
    "returns",
    "returns_python",
    "returns_sequence",
    "returns_repeat",
    "raises",
    "message",
    "sleep_ms",
}
_EXCEPTIONS: dict[str, type[Exception]] = {
    each.__name__: each
    for each in (ValueError, TypeError, KeyError, RuntimeError, OSError, TimeoutError)
}
