"""The message that the items of an output make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rxagent.messages import (
    AssistantMessage,
    AssistantPart,
    Opaque,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
)
from rxagent.wire.json_text import dump_json
from rxagent.wire.openai_responses.items import Channel, OutputItem

__all__ = ["message_of"]

# What our own parts hold of an item, and what each item has.
_HELD = frozenset({"content", "arguments", "call_id", "name"})
_USUAL = frozenset({"id", "type", "role", "status"})


def message_of(
    items: Iterable[OutputItem], calls: Sequence[ToolCall], *, dialect: str
) -> AssistantMessage:
    """Make a message: the items in their order, each as the parts that it holds.

    Reasoning is what one can read of it, and then the item itself, to be sent back.
    Items that we have no part for are kept whole.

    Args:
        items: Of the output.
        calls: As the items count them.
        dialect: Of the parts that only the provider understands.

    Raises:
        ValueError: If an item is no JSON.
    """
    output = [*items]
    reasons = any(item.kind == "reasoning" and item.data for item in output)
    parts = (_parts(item, calls, dialect, reasons=reasons) for item in output)
    return AssistantMessage(content=tuple(part for each in parts for part in each))


def _parts(
    item: OutputItem, calls: Sequence[ToolCall], dialect: str, *, reasons: bool
) -> Iterator[AssistantPart]:
    said = [
        _part(channel, "".join(pieces)) for (channel, _), pieces in item.pieces.items()
    ]
    match item.kind:
        case "message":
            if said:
                yield from _frame(item, dialect, always=reasons)
                yield from said
        case "function_call":
            if item.call is not None:
                yield from _frame(item, dialect, always=reasons)
                call = calls[item.call]
                written = item.arguments
                yield call if written is None else replace(call, arguments=written)
        case _:
            yield from said
            if item.data:
                yield _opaque(item.data, dialect)


def _part(channel: Channel, text: str) -> AssistantPart:
    match channel:
        case "refusal":
            return Refusal(text=text)
        case "summary" | "thought":
            return Reasoning(text=text)
        case _:
            return Text(text=text)


def _frame(item: OutputItem, dialect: str, *, always: bool) -> Iterator[Opaque]:
    """What the item says besides the parts behind it, if the provider needs it back.

    It knows by the ids what its reasoning has led to, and wants the phase of a message
    again.
    """
    data = {
        name: value
        for name, value in (item.data or {}).items()
        if name not in _HELD and value is not None
    }
    if data and (always or data.keys() - _USUAL):
        yield _opaque(data, dialect)


def _opaque(data: dict[str, object], dialect: str) -> Opaque:
    return Opaque(dialect=dialect, data=dump_json(data).decode())
