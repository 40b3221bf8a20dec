"""Every dialect, and how it says an answer: who adds one here has it covered.

A dialect that is in its catalogue and not in this table fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hypothesis import strategies as st

from rxagent.models._answer import Dialect
from rxagent.wire import (
    AnthropicDialect,
    GeminiDialect,
    OllamaDialect,
    OpenAIChatDialect,
    OpenAIResponsesDialect,
)
from tests.wire.anthropic import test_response as anthropic
from tests.wire.gemini import test_response as gemini
from tests.wire.ollama import test_response as ollama
from tests.wire.openai_chat import test_response as openai_chat
from tests.wire.openai_responses import streams
from tests.wire.openai_responses import test_response as openai_responses

__all__ = ["ANSWERS", "DIALECTS", "Answer", "Part", "Spoken"]

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an answer.

    Args:
        kind: What it is.  A call is of ``f``, with what the pieces are as its ``x``.
        pieces: Of its text, none of them empty.
    """

    kind: Literal["text", "thought", "call"]
    pieces: Sequence[str]

    @property
    def text(self) -> str:
        """All pieces."""
        return "".join(self.pieces)

    @property
    def arguments(self) -> str:
        """Of a call, as JSON text."""
        return json.dumps({"x": self.text})


Answer: TypeAlias = Sequence[Part]

ANSWERS: st.SearchStrategy[list[Part]] = st.lists(
    st.builds(
        Part,
        st.sampled_from(["text", "text", "thought", "call"]),
        st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=6),
    ),
    max_size=4,
)
"""Any answer, as far as all dialects can say it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A dialect, and its words.

    Args:
        dialect: With its usual settings.
        events: An answer, an event of the wire each.
        frame: The bytes of an event.
        noise: What may stand between two events and means nothing.
        counted: The bytes of an answer with every count that there is.
        content_type: Of a stream.
    """

    dialect: Dialect
    events: Callable[[Answer], list[Json]]
    frame: Callable[[Mapping[str, Any]], bytes]
    noise: Sequence[bytes]
    counted: bytes
    content_type: str = "text/event-stream"


def _openai_chat(answer: Answer) -> list[Json]:
    events: list[Mapping[str, object]] = []
    for number, part in enumerate(answer):
        match part.kind:
            case "text":
                events += [openai_chat.delta(content=each) for each in part.pieces]
            case "thought":
                events += [
                    openai_chat.delta(content=None, reasoning_content=each)
                    for each in part.pieces
                ]
            case "call":
                names = {"name": "f", "arguments": ""}
                events.append(openai_chat.call(number, id=f"t{number}", function=names))
                events += [
                    openai_chat.call(number, function={"arguments": each})
                    for each in _halves(part.arguments)
                ]
    padded = [
        {**event, "obfuscation": "pad"[number % 3 :]}
        for number, event in enumerate(events)
    ]
    return [*padded, dict(openai_chat.finish("stop"))]


def _anthropic(answer: Answer) -> list[Json]:
    events: list[Json] = []
    for number, part in enumerate(answer):
        match part.kind:
            case "text":
                events.append(anthropic.block(number, type="text", text=""))
                events += [anthropic.text(number, each) for each in part.pieces]
            case "thought":
                begun = anthropic.block(number, type="thinking", thinking="")
                events.append(begun)
                events += [
                    anthropic.delta(number, type="thinking_delta", thinking=each)
                    for each in part.pieces
                ]
            case "call":
                names = {"id": f"t{number}", "name": "f", "input": {}}
                events.append(anthropic.block(number, type="tool_use", **names))
                halves = _halves(part.arguments)
                events += [anthropic.argued(number, each) for each in halves]
        events.append(anthropic.stop(number))
    return anthropic.said(*events)


def _openai_responses(answer: Answer) -> list[Json]:
    def item(number: int, part: Part) -> streams.Item:
        match part.kind:
            case "text":
                return streams.message(part.pieces, item_id=f"msg_{number}")
            case "thought":
                return streams.reasoning(part.pieces, item_id=f"rs_{number}")
            case "call":
                ids = {"call_id": f"t{number}", "item_id": f"fc_{number}"}
                return streams.called("f", *_halves(part.arguments), **ids)

    return streams.events_of(*(item(*each) for each in enumerate(answer)))


def _gemini(answer: Answer) -> list[Json]:
    said: list[Mapping[str, object]] = []
    for number, part in enumerate(answer):
        match part.kind:
            case "text":
                said += [{"text": each} for each in part.pieces]
            case "thought":
                said += [{"text": each, "thought": True} for each in part.pieces]
            case "call":
                args = json.loads(part.arguments)
                call = {"id": f"t{number}", "name": "f", "args": args}
                said.append({"functionCall": call})
    counted = [
        gemini.parts(each, usageMetadata=_counts(number))
        for number, each in enumerate(said)
    ]
    return [dict(each) for each in (*counted, gemini.finish("STOP"))]


def _counts(number: int) -> Json:
    tokens = {"candidatesTokenCount": number, "totalTokenCount": number + 9}
    return {"promptTokenCount": 9, **tokens}


def _ollama(answer: Answer) -> list[Json]:
    lines: list[Mapping[str, object]] = []
    for number, part in enumerate(answer):
        match part.kind:
            case "text":
                lines += [ollama.says(each) for each in part.pieces]
            case "thought":
                lines += [ollama.says(thinking=each) for each in part.pieces]
            case "call":
                call = {"name": "f", "arguments": json.loads(part.arguments)}
                lines.append(ollama.calls(call, id=f"t{number}"))
    stamped = [
        {**line, "created_at": f"2026-10-17T23:14:07.{number}Z"}
        for number, line in enumerate(lines)
    ]
    return [*stamped, dict(ollama.done())]


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _data(event: Mapping[str, Any]) -> bytes:
    return b"data: %b\n\n" % json.dumps(event).encode()


_COMMENTS = [b": keep-alive\n\n", b": keep-alive\n", b"\n", b"id: 3\nretry: 9\n\n"]

_CHAT_USAGE: Json = {
    "choices": [],
    "usage": {
        "prompt_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
        "completion_tokens": 5,
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
}

DIALECTS: Mapping[str, Spoken] = {
    "AnthropicDialect": Spoken(
        dialect=AnthropicDialect(),
        events=_anthropic,
        frame=lambda event: anthropic.sse([dict(event)]),
        noise=[*_COMMENTS, *(anthropic.sse([each]) for each in anthropic.NOISE)],
        counted=anthropic.sse(anthropic.ANSWER),
    ),
    "GeminiDialect": Spoken(
        dialect=GeminiDialect(),
        events=_gemini,
        frame=lambda event: _data(event).replace(b"\n", b"\r\n"),
        noise=[*_COMMENTS, b'data: {"unknown": {"deep": [1]}}\n\n'],
        counted=gemini.ANSWER,
    ),
    "OllamaDialect": Spoken(
        dialect=OllamaDialect(),
        events=_ollama,
        frame=lambda event: ollama.ndjson(event),
        noise=[b"\n", b" \r\n", b'{"unknown": {"deep": [1]}}\n'],
        counted=ollama.ANSWER,
        content_type="application/x-ndjson",
    ),
    "OpenAIChatDialect": Spoken(
        dialect=OpenAIChatDialect(),
        events=_openai_chat,
        frame=_data,
        noise=[*_COMMENTS, b"data: : ping\n\n", b'data: {"choices": []}\n\n'],
        counted=openai_chat.sse(openai_chat.finish("stop"), _CHAT_USAGE),
    ),
    "OpenAIResponsesDialect": Spoken(
        dialect=OpenAIResponsesDialect(),
        events=_openai_responses,
        frame=lambda event: streams.sse([dict(event)]),
        noise=[*_COMMENTS, *(streams.sse([each]) for each in openai_responses.UNKNOWN)],
        counted=streams.sse(streams.events_of()),
    ),
}
