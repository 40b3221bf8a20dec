"""One message as blocks that Anthropic reads."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import TypeAlias
from zlib import crc32

from rxagent.errors import RequestError
from rxagent.messages import (
    AssistantMessage,
    Audio,
    File,
    Image,
    Opaque,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
    UserPart,
)
from rxagent.wire.arguments import strict_arguments
from rxagent.wire.json_text import dump_json, load_json
from rxagent.wire.media import in_bytes
from rxagent.wire.names import wire_name

__all__ = ["encode_blocks"]

_Block: TypeAlias = dict[str, object]

_IMAGES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9_-]", re.ASCII)


def encode_blocks(
    message: UserMessage | AssistantMessage | ToolMessage, *, dialect: str
) -> bytes:
    """Encode the content of a message.

    Args:
        message: A text without a letter in it is left out, since the API refuses it.
        dialect: Whose thoughts and opaque parts are sent.

    Returns:
        JSON objects, parted by commas; nothing where there is nothing to send.

    Raises:
        RequestError: If the format cannot express a part.
    """
    match message:
        case UserMessage():
            return b",".join(map(dump_json, _media(message.content, "a message")))
        case ToolMessage():
            return dump_json(_result(message))
        case AssistantMessage():
            return b",".join(_said(message, dialect))


def _said(message: AssistantMessage, dialect: str) -> Iterator[bytes]:
    for part in message.content:
        match part:
            case Text() | Refusal():
                if part.text.strip():
                    yield dump_json({"type": "text", "text": part.text})
            case Reasoning():
                if part.signature and part.dialect == dialect:
                    thought = {"thinking": part.text, "signature": part.signature}
                    yield dump_json({"type": "thinking", **thought})
            case Opaque():
                if part.dialect == dialect:
                    yield _opaque(part)
            case ToolCall():
                yield _call(part)


def _opaque(part: Opaque) -> bytes:
    try:
        return dump_json(load_json(part.data))
    except ValueError as error:
        raise RequestError(
            f"a part of dialect {part.dialect!r} is not JSON: {error}"
        ) from None


def _call(call: ToolCall) -> bytes:
    # A name that the model dreamed up may be one that the API refuses for ever.
    named = {"id": _wire_id(call.id), "name": wire_name(call.name)}
    head = dump_json({"type": "tool_use", **named})
    return b'%b,"input":%b}' % (head[:-1], strict_arguments(call.arguments).encode())


def _result(message: ToolMessage) -> _Block:
    block: _Block = {
        "type": "tool_result",
        "tool_use_id": _wire_id(message.tool_call_id),
    }
    if all(isinstance(part, Text) for part in message.content):
        content: object = message.text
    else:
        content = list(_media(message.content, f"the result of tool {message.name!r}"))
    if content:
        block["content"] = content
    if message.is_error:
        block["is_error"] = True
    return block


def _wire_id(call_id: str) -> str:
    """An id that the API takes: other providers put dots and colons into theirs."""
    plain = _NOT_IN_ID.sub("_", call_id)
    if plain and plain == call_id:
        return call_id
    return f"{plain}_{crc32(call_id.encode('utf-8', 'surrogatepass')):08x}"


def _media(parts: tuple[UserPart, ...], where: str) -> Iterator[_Block]:
    for part in map(in_bytes, parts):
        match part:
            case Text():
                if part.text.strip():
                    yield {"type": "text", "text": part.text}
            case Image():
                yield {"type": "image", "source": _image(part)}
            case File():
                source = _document(part)
                yield {"type": "document", "source": source, "title": part.name}
            case Audio():
                raise RequestError(
                    f"{where} holds audio, which Anthropic does not take"
                )


def _image(part: Image) -> _Block:
    if part.data is None:
        return {"type": "url", "url": part.url}
    if part.media_type not in _IMAGES:
        raise RequestError(
            f"an image goes to Anthropic as {', '.join(sorted(_IMAGES))}, "
            f"not as {part.media_type}"
        )
    return _base64(part.media_type, part.data)


def _document(part: File) -> _Block:
    match part:
        case File(media_type="application/pdf", data=bytes(data)):
            return _base64(part.media_type, data)
        case File(media_type="application/pdf"):
            return {"type": "url", "url": part.url}
        case File(data=bytes(data)) if part.media_type.startswith("text/"):
            try:
                text = data.decode()
            except UnicodeDecodeError:
                raise RequestError(f"the file {part.name!r} is not UTF-8") from None
            return {"type": "text", "media_type": "text/plain", "data": text}
        case _:
            how = "bytes" if part.data is not None else "address"
            raise RequestError(
                f"the file {part.name!r} goes to Anthropic as a PDF or as the bytes "
                f"of a text, not as the {how} of {part.media_type}"
            )


def _base64(media_type: str, data: bytes) -> _Block:
    return {
        "type": "base64",
        "media_type": media_type,
        "data": b64encode(data).decode(),
    }
