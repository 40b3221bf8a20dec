"""One message as OpenAI-compatible servers read it."""

from __future__ import annotations

from base64 import b64encode
from typing import Literal, TypeAlias

from rxagent.errors import RequestError
from rxagent.messages import (
    AssistantMessage,
    Audio,
    File,
    Image,
    Message,
    Opaque,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
    UserPart,
)
from rxagent.wire.arguments import strict_arguments
from rxagent.wire.json_text import dump_json, load_json
from rxagent.wire.names import wire_name

__all__ = ["SendReasoning", "encode_message"]

SendReasoning: TypeAlias = Literal["never", "tool_calls", "always"]
"""On which assistant messages reasoning goes back to the provider."""

_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


def encode_message(
    message: Message, *, dialect: str, send_reasoning: SendReasoning
) -> bytes:
    """Encode a message.

    Args:
        message: Its content is a plain string where it is text alone.
        dialect: Whose opaque parts are sent.
        send_reasoning: On which assistant messages reasoning is sent.

    Returns:
        A JSON object; nothing for an assistant message with nothing to send.

    Raises:
        RequestError: If the format cannot express a part.
    """
    match message:
        case SystemMessage():
            return dump_json({"role": "system", "content": message.text})
        case UserMessage():
            return dump_json(
                {"role": "user", "content": _user_content(message.content)}
            )
        case ToolMessage():
            return dump_json(
                {
                    "role": "tool",
                    "tool_call_id": message.tool_call_id,
                    "content": _tool_content(message),
                }
            )
        case AssistantMessage():
            return _assistant(message, dialect, send_reasoning)


def _assistant(message: AssistantMessage, dialect: str, sends: SendReasoning) -> bytes:
    opaque = [
        part
        for part in message.content
        if isinstance(part, Opaque) and part.dialect == dialect
    ]
    text, calls = message.text or message.refusal, message.tool_calls
    if not (text or calls or opaque):
        return b""
    body: dict[str, object] = {"role": "assistant", "content": text or None}
    if opaque:
        body["content"] = [
            *([{"type": "text", "text": text}] if text else []),
            *map(_opaque, opaque),
        ]
    if calls:
        body["tool_calls"] = [_call(call) for call in calls]
    wanted = sends == "always" or (sends == "tool_calls" and bool(calls))
    if wanted and message.reasoning:
        body["reasoning_content"] = message.reasoning
    return dump_json(body)


def _opaque(part: Opaque) -> object:
    try:
        return load_json(part.data)
    except ValueError as error:
        raise RequestError(
            f"a part of dialect {part.dialect!r} is not JSON: {error}"
        ) from None


def _call(call: ToolCall) -> dict[str, object]:
    return {
        "id": call.id,
        "type": "function",
        "function": {
            # A name that the model dreamed up may be one that servers refuse for ever.
            "name": wire_name(call.name),
            "arguments": strict_arguments(call.arguments),
        },
    }


def _user_content(parts: tuple[UserPart, ...]) -> str | list[dict[str, object]]:
    if all(isinstance(part, Text) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, Text))
    return [_user_part(part) for part in parts]


def _user_part(part: UserPart) -> dict[str, object]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            url = part.url or _data_url(part)
            return {"type": "image_url", "image_url": {"url": url}}
        case Audio(data=bytes(data)) if part.media_type in _AUDIO_FORMATS:
            sound = {
                "data": b64encode(data).decode(),
                "format": _AUDIO_FORMATS[part.media_type],
            }
            return {"type": "input_audio", "input_audio": sound}
        case Audio():
            what = part.media_type if part.data else f"the address {part.url!r}"
            raise RequestError(
                f"audio goes to OpenAI chat as the bytes of WAV or MP3, not as {what}"
            )
        case File(data=bytes()):
            document = {"filename": part.name, "file_data": _data_url(part)}
            return {"type": "file", "file": document}
        case File():
            raise RequestError(
                f"the file {part.name!r} goes to OpenAI chat as bytes, not as "
                f"the address {part.url!r}"
            )


def _tool_content(message: ToolMessage) -> str:
    for part in message.content:
        if not isinstance(part, Text):
            raise RequestError(
                f"the result of tool {message.name!r} holds {part.type}; OpenAI chat "
                "takes text there, so put it into a user message"
            )
    return message.text


def _data_url(part: Image | File) -> str:
    data = b64encode(part.data or b"").decode()
    return f"data:{part.media_type};base64,{data}"
