"""One message as Gemini reads it: a role, and parts of one kind each."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import urlsplit

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
from rxagent.wire.json_text import dump_json, is_object, load_json
from rxagent.wire.media import in_bytes
from rxagent.wire.names import wire_name

__all__ = ["NO_ID", "encode_message"]

NO_ID = "gemini-call-"
"""How the id of a call begins that Gemini gave none, and so must not get one back."""

_NOT_SAID = "image/png"  # the default of a picture
_PICTURES = {
    "avif": "image/avif",
    "gif": "image/gif",
    "heic": "image/heic",
    "heif": "image/heif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "webp": "image/webp",
}
"""What a picture is by the suffix of its address."""

_SIGNATURE = "thoughtSignature"


def encode_message(
    message: UserMessage | AssistantMessage | ToolMessage, *, dialect: str
) -> bytes:
    """Encode a message.

    Args:
        message: Of anybody but the system.
        dialect: Whose opaque and signed parts are sent.

    Returns:
        A JSON object; of a result the part alone, as all of a batch go into one
        message; nothing for an assistant message with nothing to send.

    Raises:
        RequestError: If a part cannot be sent.
    """
    match message:
        case UserMessage():
            said = [each for each in message.content if not _is_blank(each)]
            parts = [_user_part(part) for part in said] or [{"text": ""}]
            return dump_json({"role": "user", "parts": parts})
        case AssistantMessage():
            parts = _model_parts(message, dialect=dialect)
            return dump_json({"role": "model", "parts": parts}) if parts else b""
        case ToolMessage():
            return dump_json({"functionResponse": _result(message)})


def _model_parts(message: AssistantMessage, *, dialect: str) -> list[dict[str, object]]:
    parts: list[dict[str, object]] = []
    for part in message.content:
        match part:
            case Text() | Refusal():
                if part.text:
                    parts.append({"text": part.text})
            case Reasoning(signature=str(signature)) if part.dialect == dialect:
                thought = {"text": part.text, "thought": True}
                parts.append({**thought, _SIGNATURE: signature})
            case ToolCall():
                parts.append({"functionCall": _call(part)})
            case Opaque() if part.dialect == dialect:
                _replay(part, parts)
            case _:  # thoughts that nobody signed, and what others understand
                pass
    return parts


def _replay(part: Opaque, parts: list[dict[str, object]]) -> None:
    """Give a signature back to the part before it; all else is a part of its own."""
    try:
        data = load_json(part.data)
    except ValueError as error:
        raise RequestError(
            f"a part of dialect {part.dialect!r} is not JSON: {error}"
        ) from None
    if not is_object(data):
        raise RequestError(f"a part of dialect {part.dialect!r} is no JSON object")
    if data.keys() != {_SIGNATURE}:
        parts.append(data)
    elif parts and _SIGNATURE not in parts[-1]:
        parts[-1] |= data
    else:  # somebody has taken out what was signed
        parts.append({"text": "", **data})


def _call(call: ToolCall) -> dict[str, object]:
    return {
        **_id(call.id),
        "name": wire_name(call.name),
        "args": load_json(strict_arguments(call.arguments)),
    }


def _result(message: ToolMessage) -> dict[str, object]:
    media = [part for part in message.content if not isinstance(part, Text)]
    body: dict[str, object] = {
        **_id(message.tool_call_id),
        "name": wire_name(message.name),
        "response": {"error" if message.is_error else "output": message.text},
    }
    if media:
        body["parts"] = [_user_part(part) for part in media]
    return body


def _id(id_: str) -> dict[str, str]:
    return {} if id_.startswith(NO_ID) else {"id": id_}


def _is_blank(part: UserPart) -> bool:
    return isinstance(part, Text) and not part.text


def _user_part(part: UserPart) -> dict[str, object]:
    part = in_bytes(part)
    match part:
        case Text():
            return {"text": part.text}
        case Image() | Audio() | File():
            if part.url is not None:
                return {"fileData": {"mimeType": _kind(part), "fileUri": part.url}}
            assert part.data is not None
            kind = {"mimeType": part.media_type}
            data = b64encode(part.data).decode()
            return {"inlineData": {**kind, "data": data}}


def _kind(part: Image | Audio | File) -> str:
    """The media type: of a picture that is said to be no other, its suffix knows."""
    if part.url is None or part.media_type != _NOT_SAID:
        return part.media_type
    suffix = urlsplit(part.url).path.rpartition(".")[2].lower()
    return _PICTURES.get(suffix, part.media_type)
