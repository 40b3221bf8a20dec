"""Messages with placeholders for their values, and back again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from rxagent.advisors._placeholders import Placeholders
from rxagent.messages import (
    AssistantPart,
    Message,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    UserPart,
)
from rxagent.responses import ChatResponse

__all__ = ["masked", "restored"]

_Change: TypeAlias = Callable[[str], str]
_Part = TypeVar("_Part", bound=AssistantPart | UserPart)
M = TypeVar("M", bound=Message)


def masked(message: Message, values: Placeholders) -> Message:
    """Return a message as the provider may see it.

    Role, media, names and the mark stay, and what has no value stays the very object.
    A thought with a signature goes back to the provider that wrote it, or not at all,
    and is left as it is: changed, it would be refused.
    """
    return _changed(message, values.masked, values.masked_json)


def restored(
    response: ChatResponse, values: Placeholders, *, in_json: bool
) -> ChatResponse:
    """Return a response as the caller, the tools and a memory may see it.

    Args:
        response: As the model gave it.
        values: What its placeholders stand for.
        in_json: Its text is that of JSON, as the arguments of calls are.
    """

    def text(masked: str) -> str:
        return values.restored(masked, in_json=in_json)

    def arguments(masked: str) -> str:
        return values.restored(masked, in_json=True)

    message = _changed(response.message, text, arguments)
    transcript = tuple(
        message if each is response.message else _changed(each, text, arguments)
        for each in response.transcript
    )
    return replace(response, message=message, transcript=transcript)


def _changed(message: M, text: _Change, arguments: _Change) -> M:
    content = tuple(_part(each, text, arguments) for each in message.content)
    if all(new is old for new, old in zip(content, message.content, strict=True)):
        return message
    changes: dict[str, Any] = {"content": content}  # parts of the kinds that were there
    return replace(message, **changes)


def _part(part: _Part, text: _Change, arguments: _Change) -> _Part:
    match part:
        case Reasoning(signature=str()):
            return part
        case Text() | Reasoning() | Refusal():
            changed = text(part.text)
            return part if changed == part.text else replace(part, text=changed)
        case ToolCall():
            changed = arguments(part.arguments)
            same = changed == part.arguments
            return part if same else replace(part, arguments=changed)
        case _:
            return part
