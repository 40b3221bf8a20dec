"""From what an MCP server sends to the parts of a message."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from mcp import types

from rxagent.errors import ToolFailedError
from rxagent.messages import Audio, File, Image, Text, UserPart
from rxagent.tools import ToolResult
from rxagent.wire.json_text import dump_json

__all__ = ["part_of", "result_of"]


def result_of(result: types.CallToolResult) -> ToolResult:
    """Read the result of a call: the model sees its content.

    Its value is the structured content; without that, the text, if that is all there
    is; else the parts.

    Raises:
        ToolFailedError: If the server says that the tool failed.
    """
    parts = tuple(part_of(block) for block in result.content)
    structured: object = result.structured_content
    if not parts and structured is not None:
        parts = (Text(text=dump_json(structured).decode()),)
    if result.is_error:
        raise ToolFailedError(_text(parts) or "the tool failed and does not say why")
    if structured is not None:
        return ToolResult(value=structured, content=parts)
    match parts:
        case (Text(text=text),):
            return ToolResult(value=text, content=parts)
        case _:
            return ToolResult(value=parts, content=parts)


def part_of(block: types.ContentBlock) -> UserPart:
    """Read one piece of content; a resource that is only linked becomes its address.

    Raises:
        ToolFailedError: If its bytes are no base64.
    """
    match block:
        case types.TextContent():
            return Text(text=block.text)
        case types.ImageContent():
            return Image(data=_bytes(block.data), media_type=block.mime_type)
        case types.AudioContent():
            return Audio(data=_bytes(block.data), media_type=block.mime_type)
        case types.ResourceLink():
            about = f": {block.description}" if block.description else ""
            return Text(text=f"{block.title or block.name} <{block.uri}>{about}")
        case types.EmbeddedResource():
            return _resource(block.resource)


def _resource(
    resource: types.TextResourceContents | types.BlobResourceContents,
) -> UserPart:
    if isinstance(resource, types.TextResourceContents):
        return Text(text=resource.text)
    media_type = resource.mime_type or "application/octet-stream"
    data = _bytes(resource.blob)
    if media_type.startswith("image/"):
        return Image(data=data, media_type=media_type)
    if media_type.startswith("audio/"):
        return Audio(data=data, media_type=media_type)
    name = PurePosixPath(urlsplit(resource.uri).path).name
    return File(data=data, media_type=media_type, name=name or "file")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ToolFailedError(
            f"the result holds media that cannot be read: {error}"
        ) from None


def _text(parts: Iterable[UserPart]) -> str:
    return "\n".join(
        part.text if isinstance(part, Text) else f"[{part.media_type}]"
        for part in parts
    )
