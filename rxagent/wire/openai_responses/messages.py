"""One message as items of the Responses API's input."""

from __future__ import annotations

from collections.abc import Sequence

from rxagent.errors import RequestError
from rxagent.messages import (
    AssistantMessage,
    File,
    Image,
    Text,
    ToolMessage,
    UserMessage,
    UserPart,
)
from rxagent.wire.json_text import dump_json
from rxagent.wire.media import data_url, in_bytes
from rxagent.wire.openai_responses.replay import replayed
from rxagent.wire.tool_results import told_content

__all__ = ["encode_message"]


def encode_message(
    message: UserMessage | AssistantMessage | ToolMessage, *, dialect: str, stored: bool
) -> bytes:
    """Encode a message.

    Args:
        message: Its content is a plain string where it is text alone.
        dialect: Whose opaque parts are sent.
        stored: Whether the provider keeps what it has said.

    Returns:
        JSON objects, parted by commas; nothing if there is nothing to send.

    Raises:
        RequestError: If the format cannot express a part.
    """
    match message:
        case UserMessage():
            content = _content(message.content, "a user message")
            return dump_json({"type": "message", "role": "user", "content": content})
        case ToolMessage():
            output = _content(
                told_content(message), f"the result of tool {message.name!r}"
            )
            return dump_json(
                {
                    "type": "function_call_output",
                    "call_id": message.tool_call_id,
                    "output": output,
                }
            )
        case AssistantMessage():
            items = replayed(message, dialect=dialect, stored=stored)
            return b",".join(map(dump_json, items))


def _content(parts: Sequence[UserPart], where: str) -> str | list[dict[str, object]]:
    if all(isinstance(part, Text) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, Text))
    return [_part(in_bytes(part), where) for part in parts]


def _part(part: UserPart, where: str) -> dict[str, object]:
    match part:
        case Text():
            return {"type": "input_text", "text": part.text}
        case Image():
            url = part.url or data_url(part)
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        case File(data=bytes()):
            data = data_url(part)
            return {"type": "input_file", "filename": part.name, "file_data": data}
        case File():
            return {"type": "input_file", "file_url": part.url}
        case _:
            raise RequestError(
                f"{where} holds audio, which the Responses API does not take; "
                "ask an audio model over OpenAIChat"
            )
