"""Cases about what a provider sends: events, one answer, its calls, its errors."""

from __future__ import annotations

import asyncio
import time
from email.utils import parsedate_to_datetime

import httpx

from rxagent import Agent
from rxagent.messages import UserMessage
from rxagent.models import GeminiChat, OpenAIChat
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.runtime import Flow
from rxagent.tools import Tool
from rxagent.types import Exchange
from rxagent.wire import OpenAIChatDialect, SseDecoder
from tests.cases.case import Answer, Case, Cutting, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.invariants import check_invariants, neutral_messages, strings
from tests.cases.matchers import check
from tests.cases.replay import Replay, streamed
from tests.cases.words import Outcome, check_error, found, listen

__all__ = ["check_retry_after", "check_sse", "check_wire", "model_of"]

_SAID = {
    "text",
    "reasoning",
    "refusal",
    "role",
    "tool_calls",
    "finish_reason",
    "finish_reason_raw",
    "usage",
}
_KNOWN = _SAID | {
    "error",
    "ids_unique",
    "invariants",
    "max_seconds",
    "automatic_retries",
    "requests",
    "tool_executions",
}
_END = {"text": "end", "finish_reason": "stop"}


def check_sse(case: Case, cutting: Cutting) -> None:
    """Bytes to events."""
    decoder = SseDecoder()
    [answer] = case.answers(cutting)
    reads = [read for read in answer.reads if isinstance(read, bytes)]
    events = [event for read in reads for event in decoder.feed(read)]
    events += decoder.flush()
    told = [{"event": event.event, "data": event.data} for event in events]
    check(case.expect["events"], told, "$.events")


def check_wire(case: Case, cutting: Cutting) -> None:
    """One answer over a real exchange, whose transport yields exactly these reads."""
    if case.protocol not in ("openai-chat", "google-generate"):
        raise NotSupportedError(f"protocol {case.protocol}")
    if unknown := case.expect.keys() - _KNOWN:
        raise NotSupportedError(f"this reader does not know {unknown}")
    expect = case.expect
    started = time.monotonic()
    outcome, requests = asyncio.run(_ask(case, case.answers(cutting)))
    seconds = time.monotonic() - started

    told = found(outcome, case.protocol)
    check({name: expect[name] for name in expect.keys() & _SAID}, told)
    if "error" in expect:
        check_error(expect["error"], outcome.error)
    ids = [call["id"] for call in told["tool_calls"]]
    assert not expect.get("ids_unique") or len(set(ids)) == len(ids), ids
    for text in strings(told):
        text.encode()
    for body in requests:
        neutral = neutral_messages(body, case.protocol)
        check_invariants(expect.get("invariants", []), neutral)
    assert seconds <= expect.get("max_seconds", seconds)
    check(expect.get("requests", len(requests)), len(requests), "$.requests")
    retries = expect.get("automatic_retries", len(requests) - 1)
    check(retries, len(requests) - 1, "$.automatic_retries")
    if "tool_executions" in expect:
        names = {call["name"] for call in told["tool_calls"]}
        runs = asyncio.run(_run_tools(case, case.answers(cutting), names))
        check(expect["tool_executions"], runs, "$.tool_executions")


def check_retry_after(case: Case, cutting: Cutting) -> None:
    """Headers to a delay."""
    del cutting
    if "max_s" in case.given:
        raise NotSupportedError("a cap on waiting belongs to retries")
    now = parsedate_to_datetime(case.given["now"])
    dialect = OpenAIChatDialect()
    delays = [
        dialect.error(row["status"], row["headers"], b"", now=now).retry_after_s
        for row in case.given["rows"]
    ]
    check(case.expect["delays_s"], delays, "$.delays_s")


def model_of(
    client: httpx.AsyncClient, dialect: OpenAIChatDialect | None = None
) -> OpenAIChat:
    """A real exchange over ``client``."""
    return OpenAIChat(
        model="m",
        base_url="http://test/v1",
        api_key="k",
        client=client,
        dialect=dialect,
    )


def _model(case: Case, client: httpx.AsyncClient) -> Exchange:
    options = case.given.get("options", {})
    if case.protocol == "google-generate":
        if options:
            raise NotSupportedError(f"options {options}")
        return GeminiChat(model="m", base_url="http://test", api_key="k", client=client)
    return model_of(client, _dialect(options))


async def _ask(case: Case, answers: list[Answer]) -> tuple[Outcome, list[Json]]:
    transport = Replay(answers)
    request = ChatRequest(messages=(UserMessage.of("hi"),))
    async with httpx.AsyncClient(transport=transport) as client:
        model = _model(case, client)
        outcome = await listen(Flow.of(just(request).pipe(model)))
    return outcome, transport.requests


async def _run_tools(case: Case, answers: list[Answer], names: set[str]) -> list[Json]:
    """What a tool loop runs of the answer: a recording tool under each name."""
    runs: list[Json] = []

    def recording(name: str) -> Tool[..., object]:
        def run(**arguments: object) -> str:
            runs.append({"name": name, "arguments": arguments})
            return "ok"

        schema = {"type": "object"}
        return Tool.from_schema(run, name=name, description="", parameters=schema)

    transport = Replay([*answers, streamed(_END, case.protocol)])
    async with httpx.AsyncClient(transport=transport) as client:
        model = _model(case, client)
        agent = Agent(model, tools=[recording(name) for name in sorted(names)])
        outcome = await listen(agent.stream("hi"))
    assert outcome.error is None, outcome.error
    for body in transport.requests:
        neutral = neutral_messages(body, case.protocol)
        check_invariants(["paired-tools", "valid-json-args"], neutral)
    return runs


def _dialect(options: Json) -> OpenAIChatDialect:
    known = {"think_tags", "starts_in_thinking"}
    given = {name: value for name, value in options.items() if name in known}
    if rest := {
        name: value for name, value in options.items() if name not in known and value
    }:
        raise NotSupportedError(f"options {rest}")
    return OpenAIChatDialect(**given)
