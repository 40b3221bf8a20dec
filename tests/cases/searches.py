"""Cases about tool search: a scripted provider over the wire, and tools to be found."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from rxagent import Agent
from rxagent.advisors import tool_loop, tool_search
from rxagent.search import KeywordIndex, RegexIndex, ToolIndex
from rxagent.tools import Tool
from tests.cases.answers import model_of
from tests.cases.case import Case, Cutting, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.invariants import check_invariants, neutral_messages
from tests.cases.matchers import check
from tests.cases.replay import Replay, streamed
from tests.cases.words import Outcome, check_error, listen

__all__ = ["check_tool_search"]

_GIVEN = {
    "kind",
    "catalog",
    "model_turns",
    "repeat_last_turn",
    "user",
    "index",
    "limit",
    "always_include",
    "accumulate",
}
_KNOWN = {
    "requests",
    "requests_total",
    "tool_executions",
    "tool_executions_of",
    "final_text",
    "error",
    "invariants",
}
_INDEXES: dict[str, type[ToolIndex]] = {"keyword": KeywordIndex, "regex": RegexIndex}
_OPTIONS = ("limit", "always_include", "accumulate")


def check_tool_search(case: Case, cutting: Cutting) -> None:
    """Run an agent, and look at which tools it sent and ran."""
    del cutting
    given, expect = case.given, case.expect
    if unknown := (given.keys() - _GIVEN) | (expect.keys() - _KNOWN):
        raise NotSupportedError(f"this reader does not know {unknown}")
    ran: list[Json] = []
    outcome, bodies = asyncio.run(_run(given, ran))

    told: Json = {
        "final_text": outcome.response.text if outcome.response else None,
        "tool_executions_of": {
            name: sum(each["name"] == name for each in ran)
            for name in expect.get("tool_executions_of", {})
        },
        "requests_total": len(bodies),
        "tool_executions": ran,
    }
    check_error(expect.get("error"), outcome.error)
    check({name: expect[name] for name in expect.keys() & told.keys()}, told)
    invariants = [*expect.get("invariants", []), "paired-tools", "system-first-once"]
    for body in bodies:
        check_invariants(invariants, neutral_messages(body))
    for number, about in expect.get("requests", {}).items():
        _check_request(about, bodies[int(number)])


def _check_request(about: Json, body: Json) -> None:
    sent = [tool["function"]["name"] for tool in body.get("tools", [])]
    results = [each for each in neutral_messages(body) if each["role"] == "tool"]
    told: Json = {
        "tools_sent": sent,
        "tools_sent_sorted": sorted(sent),
        "tools_sent_total": len(sent),
        "last_tool_content": results[-1]["content"] if results else None,
        "tool_contents_in_order": [each["content"] for each in results],
    }
    if unknown := about.keys() - told.keys():
        raise NotSupportedError(f"this reader does not know {unknown}")
    check(about, told)


async def _run(given: Json, ran: list[Json]) -> tuple[Outcome, list[Json]]:
    turns: list[Json] = given["model_turns"]
    last = (lambda: streamed(turns[-1])) if given.get("repeat_last_turn") else None
    transport = Replay([streamed(turn) for turn in turns], again=last)
    options: dict[str, Any] = {name: given[name] for name in _OPTIONS if name in given}
    index = given.get("index", "keyword")
    if index not in _INDEXES:
        raise NotSupportedError(f"index {index}")
    search = tool_search(index=_INDEXES[index](), **options)
    async with httpx.AsyncClient(transport=transport) as client:
        agent = Agent(
            model_of(client),
            tools=[_tool(each, ran) for each in given["catalog"]],
            advisors=[tool_loop(), search],
        )
        outcome = await listen(agent.stream(given.get("user", "go")))
    return outcome, transport.requests


def _tool(given: str | Json, ran: list[Json]) -> Tool[..., object]:
    about: Json = {"name": given} if isinstance(given, str) else given
    name: str = about["name"]

    async def function(**arguments: object) -> object:
        ran.append({"name": name, "arguments": arguments})
        return about.get("returns", "done")

    return Tool.from_schema(
        function,
        name=name,
        description=about.get("description", ""),
        parameters=about.get("parameters", {"type": "object"}),
    )
