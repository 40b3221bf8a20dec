"""What a server of Ollama says, as its API describes it.

    with ChatServer(said("Hel", "lo")) as server:
        OllamaChat(model="m", base_url=server.url)

Each answer is streamed or whole, as the request wants it.

Source: https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from tests.servers import Answer, Asked

__all__ = [
    "broken_off",
    "called",
    "embedded",
    "failed",
    "refused",
    "said",
    "still",
    "thought",
]

Json: TypeAlias = Mapping[str, object]
Make: TypeAlias = Callable[[Asked], Answer]

_NDJSON = {"content-type": "application/x-ndjson"}
_JSON = {"content-type": "application/json; charset=utf-8"}
_NOW = "2026-10-17T23:14:07.414671Z"
_METRICS: Json = {
    "total_duration": 174560334,
    "load_duration": 101397084,
    "prompt_eval_count": 11,
    "prompt_eval_duration": 13074791,
    "eval_count": 18,
    "eval_duration": 52479709,
}


def said(*pieces: str, done_reason: str = "stop") -> Make:
    """An answer of text."""
    return _answer([{"content": piece} for piece in pieces], done_reason=done_reason)


def thought(*thoughts: str, text: str) -> Make:
    """An answer of a model that thinks before."""
    pieces = [{"content": "", "thinking": thought} for thought in thoughts]
    return _answer([*pieces, {"content": text}])


def called(*calls: tuple[str, Json], text: str = "", ids: bool = True) -> Make:
    """An answer that calls tools; older servers give no ids to calls."""
    made = [
        {
            **({"id": f"call_{index}"} if ids else {}),
            "function": {"index": index, "name": name, "arguments": arguments},
        }
        for index, (name, arguments) in enumerate(calls)
    ]
    return _answer([{"content": text, "tool_calls": made}])


def broken_off(*pieces: str, message: str) -> Make:
    """An error after the pieces: too late for a status, if they were streamed."""

    def make(asked: Asked) -> Answer:
        if not asked.body.get("stream", True):
            return refused(500, message)
        lines = [_line(asked, {"content": piece}) for piece in pieces]
        return _stream([*lines, {"error": message}])

    return make


def failed(*pieces: str) -> Make:
    """A stream whose connection is lost after the pieces."""

    def make(asked: Asked) -> Answer:
        lines = [_line(asked, {"content": piece}) for piece in pieces]
        return Answer(headers=_NDJSON, pieces=_bytes(lines), then="cut")

    return make


def still(*pieces: str) -> Make:
    """A stream that stands still after the pieces."""

    def make(asked: Asked) -> Answer:
        lines = [_line(asked, {"content": piece}) for piece in pieces]
        return Answer(headers=_NDJSON, pieces=_bytes(lines), then="hang")

    return make


def refused(status: int, message: str) -> Answer:
    """An error before anything was said."""
    return Answer(status=status, headers=_JSON, pieces=_bytes([{"error": message}]))


def embedded(vector_of: Callable[[str], list[float]]) -> Make:
    """The embeddings of whatever texts come."""

    def make(asked: Asked) -> Answer:
        texts = asked.body["input"]
        assert isinstance(texts, list)
        answer: Json = {
            "model": asked.body["model"],
            "embeddings": [vector_of(text) for text in texts],
            "total_duration": 14143917,
            "prompt_eval_count": 8,
        }
        return Answer(headers=_JSON, pieces=_bytes([answer]))

    return make


def _answer(messages: Iterable[Json], *, done_reason: str = "stop") -> Make:
    """Streamed, unless the request says that it shall not be."""

    def make(asked: Asked) -> Answer:
        if asked.body.get("stream", True):
            return _stream(
                [
                    *(_line(asked, message) for message in messages),
                    _end(asked, {"content": ""}, done_reason),
                ]
            )
        whole: dict[str, object] = {"content": ""}
        for message in messages:
            for name, value in message.items():
                known = whole.get(name)
                whole[name] = known + value if known else value  # type: ignore[operator]
        return Answer(headers=_JSON, pieces=_bytes([_end(asked, whole, done_reason)]))

    return make


def _line(asked: Asked, message: Json) -> Json:
    return {
        "model": asked.body["model"],
        "created_at": _NOW,
        "message": {"role": "assistant", **message},
        "done": False,
    }


def _end(asked: Asked, message: Json, done_reason: str) -> Json:
    line = {**_line(asked, message), "done": True, "done_reason": done_reason}
    return {**line, **_METRICS}


def _stream(lines: Iterable[Json]) -> Answer:
    return Answer(headers=_NDJSON, pieces=_bytes(lines))


def _bytes(lines: Iterable[Json]) -> tuple[bytes, ...]:
    return tuple(
        json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines
    )
