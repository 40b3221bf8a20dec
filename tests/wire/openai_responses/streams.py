"""Answers of the Responses API as events and as bytes, well formed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st

__all__ = [
    "ANSWERS",
    "Item",
    "called",
    "events_of",
    "message",
    "other",
    "reasoning",
    "refused",
    "response",
    "sse",
]

Json: TypeAlias = dict[str, Any]

USAGE: Json = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 14,
}


@dataclass(frozen=True, slots=True)
class Item:
    """An item of an output.

    Args:
        start: As it is announced.
        whole: As it is when it is done.
        between: The events of it that come in between, without its place.
    """

    start: Json
    whole: Json
    between: tuple[Json, ...] = ()


def message(*parts: Sequence[str], item_id: str = "msg_1", **more: Any) -> Item:
    """A message; each part is a text in pieces."""
    return _message([("text", part) for part in parts], item_id, more)


def refused(*pieces: str, item_id: str = "msg_1") -> Item:
    """A message that is a refusal."""
    return _message([("refusal", pieces)], item_id, {})


def _message(parts: Sequence[tuple[str, Sequence[str]]], id_: str, more: Json) -> Item:
    content: list[Json] = []
    between: list[Json] = []
    for number, (kind, pieces) in enumerate(parts):
        whole = "".join(pieces)
        empty, part = (_part(kind, text) for text in ("", whole))
        name = "output_text" if kind == "text" else "refusal"
        place = {"item_id": id_, "content_index": number}
        logprobs: Json = {"logprobs": []} if kind == "text" else {}
        between += [
            {"type": "response.content_part.added", **place, "part": empty},
            *(
                {
                    "type": f"response.{name}.delta",
                    **place,
                    "delta": piece,
                    **logprobs,
                    "obfuscation": "x7",
                }
                for piece in pieces
            ),
            {"type": f"response.{name}.done", **place, kind: whole, **logprobs},
            {"type": "response.content_part.done", **place, "part": part},
        ]
        content.append(part)
    about = {"id": id_, "type": "message", "role": "assistant", **more}
    return Item(
        start={**about, "status": "in_progress", "content": []},
        whole={**about, "status": "completed", "content": content},
        between=tuple(between),
    )


def _part(kind: str, text: str) -> Json:
    if kind == "refusal":
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def reasoning(
    *summary: Sequence[str], item_id: str = "rs_1", encrypted: str | None = "gAAA"
) -> Item:
    """Reasoning; each part of its summary is a text in pieces."""
    between: list[Json] = []
    whole: list[Json] = []
    for number, pieces in enumerate(summary):
        place = {"item_id": item_id, "summary_index": number}
        kind = "response.reasoning_summary"
        part = {"type": "summary_text", "text": "".join(pieces)}
        between += [
            {"type": f"{kind}_part.added", **place, "part": {**part, "text": ""}},
            *(
                {"type": f"{kind}_text.delta", **place, "delta": piece}
                for piece in pieces
            ),
            {"type": f"{kind}_text.done", **place, "text": part["text"]},
            {"type": f"{kind}_part.done", **place, "part": part},
        ]
        whole.append(part)
    about = {"id": item_id, "type": "reasoning"}
    return Item(
        start={**about, "encrypted_content": "gA", "summary": []},
        whole={**about, "encrypted_content": encrypted, "summary": whole},
        between=tuple(between),
    )


def called(
    name: str, *pieces: str, call_id: str = "call_1", item_id: str = "fc_1"
) -> Item:
    """A call, its arguments in pieces."""
    about = {"id": item_id, "type": "function_call", "call_id": call_id, "name": name}
    kind = "response.function_call_arguments"
    whole = "".join(pieces)
    return Item(
        start={**about, "status": "in_progress", "arguments": ""},
        whole={**about, "status": "completed", "arguments": whole},
        between=(
            *(
                {"type": f"{kind}.delta", "item_id": item_id, "delta": each}
                for each in pieces
            ),
            {"type": f"{kind}.done", "item_id": item_id, "arguments": whole},
        ),
    )


def other(item_id: str = "ws_1") -> Item:
    """A search that the provider has run."""
    about = {"id": item_id, "type": "web_search_call"}
    return Item(
        start={**about, "status": "in_progress", "action": {"type": "search"}},
        whole={
            **about,
            "status": "completed",
            "action": {"type": "search", "query": "北京"},
        },
        between=(
            {"type": "response.web_search_call.in_progress", "item_id": item_id},
            {"type": "response.web_search_call.searching", "item_id": item_id},
            {"type": "response.web_search_call.completed", "item_id": item_id},
        ),
    )


def response(*items: Item, status: str = "completed", **members: Any) -> Json:
    """A response that has ended, in one piece."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": "m-1",
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "output": [item.whole for item in items],
        "usage": USAGE,
        **members,
    }


def events_of(*items: Item, status: str = "completed", **members: Any) -> list[Json]:
    """The events of an answer, numbered."""
    begun = response(status="in_progress", usage=None)
    events: list[Json] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for place, item in enumerate(items):
        index = {"output_index": place}
        events += [
            {"type": "response.output_item.added", **index, "item": item.start},
            *({**event, **index} for event in item.between),
            {"type": "response.output_item.done", **index, "item": item.whole},
        ]
    end = response(*items, status=status, **members)
    events.append({"type": f"response.{status}", "response": end})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def sse(events: Iterable[Json | bytes]) -> bytes:
    """The bytes of a stream, each event named as the API names it."""
    return b"".join(
        each
        if isinstance(each, bytes)
        else b"event: %b\ndata: %b\n\n"
        % (str(each.get("type", "message")).encode(), json.dumps(each).encode())
        for each in events
    )


_PIECES = st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=3)


@st.composite
def _items(draw: st.DrawFn) -> tuple[Item, ...]:
    kinds = st.sampled_from(["message", "refused", "reasoning", "called", "other"])
    items: list[Item] = []
    for number, kind in enumerate(draw(st.lists(kinds, max_size=4))):
        pieces = draw(_PIECES)
        match kind:
            case "message":
                phase = draw(st.sampled_from([{}, {"phase": "commentary"}]))
                parts = [pieces, *draw(st.lists(_PIECES, max_size=1))]
                items.append(message(*parts, item_id=f"msg_{number}", **phase))
            case "refused":
                items.append(refused(*pieces, item_id=f"msg_{number}"))
            case "reasoning":
                summary = draw(st.lists(_PIECES, max_size=2))
                items.append(reasoning(*summary, item_id=f"rs_{number}"))
            case "called":
                id_ = f"call_{number}"
                items.append(called("f", *pieces, call_id=id_, item_id=f"fc_{number}"))
            case _:
                items.append(other(f"ws_{number}"))
    return tuple(items)


ANSWERS = _items()
"""The items of any answer."""
