"""One message as Ollama reads it."""

from __future__ import annotations

from base64 import b64encode

from rxagent.errors import RequestError
from rxagent.messages import (
    AssistantMessage,
    Image,
    Message,
    Reasoning,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
    UserPart,
)
from rxagent.wire.arguments import strict_arguments
from rxagent.wire.json_text import dump_json, load_json
from rxagent.wire.media import in_bytes
from rxagent.wire.tool_results import told_text

__all__ = ["encode_message"]


def encode_message(message: Message, *, dialect: str) -> bytes:
    """Encode a message.

    Pictures stand beside the text, so their place in it is lost; Ollama puts them
    where the model wants them.  What the model thought goes back to it, unless another
    provider has signed it, and its template decides how much of that it sees.

    Args:
        message: Of anybody.
        dialect: Whose signed reasoning is sent.

    Returns:
        A JSON object; nothing for an assistant message with nothing to send.

    Raises:
        RequestError: If the format cannot express a part.
    """
    match message:
        case SystemMessage():
            return dump_json({"role": "system", "content": message.text})
        case UserMessage():
            return dump_json({"role": "user", **_content(message)})
        case ToolMessage():
            return dump_json(
                {
                    "role": "tool",
                    **_content(message),
                    "content": told_text(message),
                    "tool_name": message.name,
                    "tool_call_id": message.tool_call_id,
                }
            )
        case AssistantMessage():
            return _assistant(message, dialect)


def _assistant(message: AssistantMessage, dialect: str) -> bytes:
    text, calls = message.text or message.refusal, message.tool_calls
    if not (text or calls):
        return b""
    body: dict[str, object] = {"role": "assistant", "content": text}
    thoughts = [
        part.text
        for part in message.content
        if isinstance(part, Reasoning) and part.dialect in (None, dialect)
    ]
    if thought := "".join(thoughts):
        body["thinking"] = thought
    if calls:
        body["tool_calls"] = [_call(call, index) for index, call in enumerate(calls)]
    return dump_json(body)


def _call(call: ToolCall, index: int) -> dict[str, object]:
    return {
        "id": call.id,
        "function": {
            "index": index,
            "name": call.name,
            "arguments": load_json(strict_arguments(call.arguments)),
        },
    }


def _content(message: UserMessage | ToolMessage) -> dict[str, object]:
    images = [_image(part) for part in message.content if not isinstance(part, Text)]
    return {"content": message.text, **({"images": images} if images else {})}


def _image(part: UserPart) -> str:
    part = in_bytes(part)
    if not isinstance(part, Image):
        raise RequestError(
            f"Ollama takes text and pictures, and the message holds {part.type}; "
            "put its text into the message"
        )
    if part.data is None:
        raise RequestError(
            f"a picture goes to Ollama as bytes, not as the address {part.url!r}; "
            "read it and pass data=..."
        )
    return b64encode(part.data).decode()
