"""Cases about what a provider sends: events, one answer, its calls, its errors."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from email.utils import parsedate_to_datetime

import httpx
import reactivex
from reactivex.testing import TestScheduler

from rxagent import Agent
from rxagent.errors import ModelError
from rxagent.messages import ToolMessage, UserMessage
from rxagent.models import AnthropicChat, GeminiChat, OpenAIChat
from rxagent.operators import just, retry_backoff
from rxagent.patience import RetryPolicy
from rxagent.requests import ChatRequest
from rxagent.runtime import Flow
from rxagent.tools import Tool
from rxagent.types import Exchange
from rxagent.wire import AnthropicDialect, OpenAIChatDialect, SseDecoder
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
    "reasoning_signature",
    "redacted_reasoning",
}
_KNOWN = _SAID | {
    "error",
    "ids_unique",
    "invariants",
    "max_seconds",
    "automatic_retries",
    "requests",
    "tool_executions",
    "next_request",
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
    if case.protocol not in ("openai-chat", "anthropic-messages", "google-generate"):
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
        runs, error = asyncio.run(_run_tools(case, case.answers(cutting), names))
        check_error(expect.get("error"), error)
        check(expect["tool_executions"], runs, "$.tool_executions")
    if "next_request" in expect:
        _check_next(expect["next_request"], outcome)


def check_retry_after(case: Case, cutting: Cutting) -> None:
    """Headers to a delay, which is waited if it is not too long."""
    del cutting
    now = parsedate_to_datetime(case.given["now"])
    cap_s = case.given.get("max_s", sys.float_info.max)
    dialect = OpenAIChatDialect()
    delays = [
        _waited(dialect.error(row["status"], row["headers"], b"", now=now), cap_s)
        for row in case.given["rows"]
    ]
    check(case.expect["delays_s"], delays, "$.delays_s")


def _waited(error: ModelError, cap_s: float) -> float | str | None:
    """What a retry waits after ``error``, if that says it and may pass."""
    if error.retry_after_s is None or not error.retryable:
        return error.retry_after_s
    delays: list[float | str] = []
    policy = RetryPolicy(
        max_retries=1, cap_s=cap_s, on_retry=lambda _, delay_s: delays.append(delay_s)
    )
    scheduler = TestScheduler()
    reactivex.throw(error).pipe(retry_backoff(policy)).subscribe(
        on_error=lambda _: None, scheduler=scheduler
    )
    scheduler.start()
    [delay] = delays or ["refuse"]
    return delay


def model_of(
    client: httpx.AsyncClient,
    dialect: OpenAIChatDialect | None = None,
    *,
    max_retries: int = 0,
) -> OpenAIChat:
    """A real exchange over ``client``."""
    return OpenAIChat(
        model="m",
        base_url="http://test/v1",
        api_key="k",
        client=client,
        dialect=dialect,
        retry=patience(max_retries),
    )


def patience(max_retries: int) -> RetryPolicy:
    """Retries without the wait."""
    return RetryPolicy(max_retries=max_retries, base_s=0.01)


def _model(case: Case, client: httpx.AsyncClient) -> Exchange:
    options = case.given.get("options", {})
    max_retries = options.get("max_retries", 0)
    if case.protocol != "openai-chat" and options.keys() - {"max_retries"}:
        raise NotSupportedError(f"options {options}")
    if case.protocol == "google-generate":
        return GeminiChat(
            model="m",
            base_url="http://test",
            api_key="k",
            client=client,
            retry=patience(max_retries),
        )
    if case.protocol == "anthropic-messages":
        dialect = AnthropicDialect()  # named as Anthropic's, wherever it is asked
        return AnthropicChat(
            model="m",
            base_url="http://test",
            api_key="k",
            client=client,
            dialect=dialect,
            retry=patience(max_retries),
        )
    return model_of(client, _dialect(options), max_retries=max_retries)


def _check_next(expect: Json, outcome: Outcome) -> None:
    """What the next request of Anthropic's Messages holds of an answer."""
    assert outcome.response is not None
    message = outcome.response.message
    results = [ToolMessage.of("ok", call=call) for call in message.tool_calls]
    request = ChatRequest(messages=(UserMessage.of("hi"), message, *results))
    body = json.loads(AnthropicDialect().encode(request, model="m", stream=True))
    _, said, *rest = body["messages"]
    told: Json = {
        "assistant_content": said["content"],
        "last_message_role": body["messages"][-1]["role"],
        "then_user_content_first_type": rest[0]["content"][0]["type"] if rest else None,
    }
    check({name: expect[name] for name in expect.keys() - {"or"}}, told, "$.next")


async def _ask(case: Case, answers: list[Answer]) -> tuple[Outcome, list[Json]]:
    transport = Replay(answers)
    request = ChatRequest(messages=(UserMessage.of("hi"),))
    async with httpx.AsyncClient(transport=transport) as client:
        model = _model(case, client)
        outcome = await listen(Flow.of(just(request).pipe(model)))
    return outcome, transport.requests


async def _run_tools(
    case: Case, answers: list[Answer], names: set[str]
) -> tuple[list[Json], Exception | None]:
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
    for body in transport.requests:
        neutral = neutral_messages(body, case.protocol)
        check_invariants(["paired-tools", "valid-json-args"], neutral)
    return runs, outcome.error


def _dialect(options: Json) -> OpenAIChatDialect:
    known = {"think_tags", "starts_in_thinking"}
    given = {name: value for name, value in options.items() if name in known}
    if rest := options.keys() - known - {"max_retries"}:
        raise NotSupportedError(f"options {rest}")
    return OpenAIChatDialect(**given)
