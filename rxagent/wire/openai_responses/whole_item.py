"""An item of an output that is told whole: its parts, each with its text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from rxagent.wire.json_text import dump_json, is_array, is_object
from rxagent.wire.openai_responses.items import Channel

__all__ = ["Part", "parts_of", "text_of"]

Part: TypeAlias = tuple[Channel, int, str]
"""Where a part belongs, its number there, and its text."""


def parts_of(kind: str, data: dict[str, object]) -> Iterator[Part]:
    """Return the parts of an item.

    Args:
        kind: Its type; one that we do not know has no parts.
        data: All of it.

    Raises:
        ValueError: If a text is neither text nor JSON.
    """
    match kind:
        case "message":
            yield from _texts(data.get("content"), "text")
        case "reasoning":
            yield from _texts(data.get("summary"), "summary")
            yield from _texts(data.get("content"), "thought")
        case "function_call":
            yield "arguments", 0, text_of(data.get("arguments"))
        case _:
            return


def text_of(value: object) -> str:
    """Return a text that may be missing, or may be the object that it should say.

    Raises:
        ValueError: If it is neither text nor JSON.
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else dump_json(value).decode()


def _texts(content: object, channel: Channel) -> Iterator[Part]:
    parts = content if is_array(content) else [content]
    for number, part in enumerate(parts):
        if not is_object(part):
            yield channel, number, text_of(part)
        elif "refusal" in part:
            yield "refusal", number, text_of(part["refusal"])
        else:
            yield channel, number, text_of(part.get("text"))
