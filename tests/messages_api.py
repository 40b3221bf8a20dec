"""Answers of Anthropic's Messages, for `tests.servers.ChatServer`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from tests.servers import Answer

__all__ = ["called", "cut_off", "error", "never", "streamed", "thought", "whole"]

Json: TypeAlias = dict[str, Any]

_SSE = {"content-type": "text/event-stream; charset=utf-8"}
_JSON = {"content-type": "application/json"}
_MESSAGE: Json = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "test-model",
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 1},
}


def streamed(*deltas: str, stop_reason: str = "end_turn") -> Answer:
    """A streamed answer of text, one event a delta."""
    return _stream([_text(deltas)], stop_reason=stop_reason)


def called(name: str, /, *, text: str = "", **arguments: object) -> Answer:
    """A streamed answer that calls a tool, its arguments in two pieces."""
    blocks = [_text([text])] if text else []
    return _stream([*blocks, _call(name, arguments)], stop_reason="tool_use")


def thought(thinking: str, signature: str, name: str, /) -> Answer:
    """A streamed answer that thinks, and then calls a tool."""
    start = {"type": "thinking", "thinking": "", "signature": ""}
    block = [
        start,
        {"type": "thinking_delta", "thinking": thinking},
        {"type": "signature_delta", "signature": signature},
    ]
    return _stream([block, _call(name, {})], stop_reason="tool_use")


def whole(text: str, *, stop_reason: str = "end_turn") -> Answer:
    """An answer in one piece, for a request that does not stream."""
    body = {
        **_MESSAGE,
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop_reason,
        "usage": {"input_tokens": 9, "output_tokens": 3},
    }
    return Answer(headers=_JSON, pieces=(json.dumps(body).encode(),))


def cut_off(*deltas: str) -> Answer:
    """A stream whose connection is lost after the deltas."""
    return Answer(headers=_SSE, pieces=(_begun(deltas),), then="cut")


def never(*deltas: str) -> Answer:
    """A stream that stands still after the deltas; without any, not a byte comes."""
    pieces = (_begun(deltas),) if deltas else ()
    return Answer(headers=_SSE, pieces=pieces, then="hang")


def error(
    status: int,
    message: str,
    *,
    kind: str = "invalid_request_error",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """An error in Anthropic's shape."""
    body = {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_1",
    }
    return Answer(
        status=status,
        headers={**_JSON, **(headers or {})},
        pieces=(json.dumps(body).encode(),),
    )


def _text(deltas: Iterable[str]) -> list[Json]:
    pieces = [{"type": "text_delta", "text": delta} for delta in deltas]
    return [{"type": "text", "text": ""}, *pieces]


def _call(name: str, arguments: Mapping[str, object]) -> list[Json]:
    written = json.dumps(arguments)
    half = len(written) // 2
    return [
        {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}},
        {"type": "input_json_delta", "partial_json": written[:half]},
        {"type": "input_json_delta", "partial_json": written[half:]},
    ]


def _stream(blocks: list[list[Json]], *, stop_reason: str) -> Answer:
    end: Json = {
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason, "stop_sequence": None},
        "usage": {"output_tokens": 3},
    }
    events = [_START, {"type": "ping"}]
    for index, block in enumerate(blocks):
        events += [
            *_block(index, block),
            {"type": "content_block_stop", "index": index},
        ]
    events += [end, {"type": "message_stop"}]
    return Answer(headers=_SSE, pieces=tuple(map(_event, events)))


def _begun(deltas: Iterable[str]) -> bytes:
    return b"".join(map(_event, [_START, *_block(0, _text(deltas))]))


def _block(index: int, block: list[Json]) -> list[Json]:
    start, *deltas = block
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *(
            {"type": "content_block_delta", "index": index, "delta": delta}
            for delta in deltas
        ),
    ]


_START: Json = {"type": "message_start", "message": {**_MESSAGE, "content": []}}


def _event(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
