"""What came out of the library, in the words of the cases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from rxagent import errors
from rxagent.errors import ArgumentsError, ModelError
from rxagent.events import ChatEvent, Finished, ReasoningDelta, Retracted, TextDelta
from rxagent.messages import (
    AssistantMessage,
    Message,
    Opaque,
    Reasoning,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow, iterate
from rxagent.usage import Usage
from rxagent.wire import parse_arguments
from tests.cases.case import Json
from tests.cases.matchers import matches

__all__ = ["Outcome", "check_error", "found", "listen", "message_of"]

_CLASSES: dict[str, type[Exception]] = {
    "bad_request": errors.BadRequestError,
    "auth": errors.AuthenticationError,
    "rate_limit": errors.RateLimitError,
    "overloaded": errors.OverloadedError,
    "server": errors.ServerError,
    "timeout": errors.ModelTimeoutError,
    "connection": errors.ModelConnectionError,
    "truncated": errors.TruncatedStreamError,
    "malformed": errors.MalformedResponseError,
    "not_stream": errors.MalformedResponseError,
    "empty": errors.EmptyStreamError,
    "provider_stream": errors.ProviderStreamError,
    "context_length": errors.ContextLengthError,
    "no_json": errors.NoJsonError,
    "schema": errors.OutputError,
    "validation": errors.OutputError,
    "guardrail": errors.GuardError,
    "value": ValueError,
}


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a consumer saw of one flow."""

    events: list[ChatEvent] = field(default_factory=list[ChatEvent])
    error: Exception | None = None

    @property
    def valid(self) -> list[ChatEvent]:
        """The events that were not retracted."""
        starts = [n for n, e in enumerate(self.events) if isinstance(e, Retracted)]
        return self.events[starts[-1] + 1 if starts else 0 :]

    @property
    def response(self) -> ChatResponse | None:
        """The end, if there was one."""
        last = self.events[-1] if self.events else None
        return last.response if isinstance(last, Finished) else None


async def listen(flow: Flow[ChatEvent]) -> Outcome:
    """Read a flow to its end, whatever that is."""
    outcome = Outcome()
    try:
        async with aclosing(iterate(flow)) as events:
            async for event in events:
                outcome.events.append(event)
    except errors.RxAgentError as error:
        outcome.error = error
    return outcome


def found(outcome: Outcome, protocol: str = "openai-chat") -> Json:
    """The members that a wire case may expect; after an error, what came before it."""
    response = outcome.response
    message = response.message if response else None
    usage = response.usage if response else None
    if isinstance(outcome.error, ModelError):
        usage = outcome.error.usage
    said: dict[type, str] = {
        kind: "".join(each.text for each in outcome.valid if isinstance(each, kind))
        for kind in (TextDelta, ReasoningDelta)
    }
    if message:
        assert (message.text, message.reasoning) == (
            said[TextDelta],
            said[ReasoningDelta],
        ), "what was delivered is not what the model said"
    reason = response.finish_reason if response else None
    return {
        "text": said[TextDelta],
        "reasoning": said[ReasoningDelta],
        "refusal": message.refusal if message else None,
        "role": message.role if message else None,
        "tool_calls": [_call(call) for call in message.tool_calls] if message else [],
        "finish_reason": None if reason == "unknown" else reason,
        "finish_reason_raw": response.finish_reason_raw if response else None,
        "usage": _usage(usage, protocol),
        **_kept(message),
    }


def check_error(expected: Any, error: Exception | None) -> None:
    """Compare an error with what a case says of it, which may be a matcher.

    An error may be of several kinds, as some of ours are others too.
    """
    wanted = _contained(expected)
    kinds = [*_kinds(error)]
    views = [_view(error, kind) for kind in kinds] or [_view(error, None)]
    assert any(matches(wanted, view) for view in views), (
        f"the error was to be {expected}, and it is {error!r}, of kinds {kinds}"
    )


def _kinds(error: Exception | None) -> Iterator[str]:
    yield from (kind for kind, each in _CLASSES.items() if isinstance(error, each))
    # What an answer in a type lacks is one error there, and says which in its words.
    if isinstance(error, errors.NoAnswerError) and error.finish_reason == "length":
        yield "truncated"
    if isinstance(error, errors.InvalidAnswerError):
        if not error.text.strip():
            yield "empty"
        if "no complete JSON" in error.problem:
            yield "no_json"


def _view(error: Exception | None, kind: str | None) -> Json | None:
    if error is None:
        return None
    return {
        "kind": kind,
        "message_contains": str(error),
        "status": getattr(error, "status", None),
        "retryable": getattr(error, "retryable", None),
    }


def _contained(expected: Any) -> Any:
    """The same with the one member whose plain text is not all of what is found."""
    match expected:
        case list():
            return [_contained(each) for each in expected]
        case {"message_contains": str(part), **rest}:
            return {"message_contains": {"$contains": part}, **_contained(rest)}
        case dict():
            return {name: _contained(each) for name, each in expected.items()}
        case _:
            return expected


def message_of(neutral: Json) -> Message:
    """The library's message for the neutral form."""
    content = neutral.get("content") or ""
    match neutral["role"]:
        case "system":
            return SystemMessage.of(content)
        case "user":
            return UserMessage.of(content)
        case "tool":
            call = ToolCall(id=neutral["tool_call_id"], name=neutral.get("name", ""))
            return ToolMessage.of(content, call=call)
        case _:
            thought = neutral.get("reasoning")
            calls = [
                ToolCall(id=each["id"], name=each["name"], arguments=each["arguments"])
                for each in neutral.get("tool_calls") or ()
            ]
            return AssistantMessage(
                content=(
                    *((Reasoning(text=thought),) if thought else ()),
                    *((Text(text=content),) if content else ()),
                    *calls,
                )
            )


def _call(call: ToolCall) -> Json:
    told: Json = {"id": call.id, "name": call.name, "arguments_raw": call.arguments}
    try:
        arguments: dict[str, Any] | None = parse_arguments(call.arguments)
    except ArgumentsError:
        arguments = None
    usable = arguments is not None and not call.truncated
    return {**told, "arguments": arguments, "arguments_valid": usable}


def _kept(message: AssistantMessage | None) -> Json:
    """What goes back to the provider as it came."""
    content = message.content if message else ()
    thoughts = [each for each in content if isinstance(each, Reasoning)]
    opaque = [json.loads(each.data) for each in content if isinstance(each, Opaque)]
    return {
        "reasoning_signature": "".join(each.signature or "" for each in thoughts),
        "redacted_reasoning": [
            each["data"] for each in opaque if each.get("type") == "redacted_thinking"
        ],
    }


def _usage(usage: Usage | None, protocol: str) -> Json | None:
    if usage is None:
        return None
    cached_apart = protocol == "anthropic-messages"
    output = usage.output_tokens
    if protocol == "google-generate" and output is not None:
        output -= usage.reasoning_tokens or 0  # Gemini counts it apart
    return {
        "input": usage.input_tokens if cached_apart else usage.prompt_tokens,
        "output": output,
        "total": usage.total_tokens,
        "cached_input": usage.cache_read_tokens,
        "reasoning": usage.reasoning_tokens,
    }
