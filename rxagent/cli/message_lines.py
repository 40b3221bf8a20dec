"""Messages as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator

from rxagent.messages import (
    Audio,
    File,
    Image,
    Message,
    Opaque,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    ToolMessage,
)

__all__ = ["message_lines"]


def message_lines(message: Message) -> Iterator[str]:
    """Write a message out: who speaks, then each part.

    Args:
        message: Any.

    Yields:
        Lines; those after the first are indented.  Of media and thoughts, only that
        they are there.
    """
    who: str = message.role
    if isinstance(message, ToolMessage):
        who += f" {message.name}{' failed' if message.is_error else ''}"
    if message.mark is not None:
        who += f" ({message.mark})"
    lines = [line for part in message.content for line in _lines(part)]
    yield f"{who}: {lines[0] if lines else ''}".rstrip()
    yield from (f"  {line}" for line in lines[1:])


def _lines(part: object) -> list[str]:
    match part:
        case Text(text=text) | Refusal(text=text):
            return text.splitlines()
        case ToolCall(name=name, arguments=arguments):
            return [f"-> {name} {' '.join(arguments.split())}"]
        case Image() | Audio() | File():
            return [f"[{part.media_type}, {_size(part)}]"]
        case Reasoning():
            return ["[thoughts]"]
        case Opaque(dialect=dialect):
            return [f"[something of {dialect}]"]
        case _:
            return [f"[{type(part).__name__}]"]  # a kind that is newer than this


def _size(media: Image | Audio | File) -> str:
    return str(media.url) if media.data is None else f"{len(media.data)} bytes"
