"""One message as OpenAI-compatible servers read it."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, TypeAlias, TypeGuard

from rxagent.errors import RequestError
from rxagent.messages import (
    AssistantMessage,
    Audio,
    File,
    Image,
    Message,
    Opaque,
    Reasoning,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
    UserPart,
)
from rxagent.wire.arguments import strict_arguments
from rxagent.wire.json_text import dump_json, is_object, load_json
from rxagent.wire.media import data_url, in_bytes
from rxagent.wire.names import wire_name
from rxagent.wire.openai_chat.reasoning_details import MEMBER
from rxagent.wire.tool_results import told_text

__all__ = [
    "MessageStyle",
    "ReasoningMember",
    "SendReasoning",
    "encode_message",
]

SendReasoning: TypeAlias = Literal["never", "tool_calls", "always"]
"""On which assistant messages reasoning goes back to the provider."""

ReasoningMember: TypeAlias = Literal["reasoning_content", "reasoning", "thinking"]
"""Where: in a member of that name, or in ``thinking`` parts of the content."""

_SHORT_ID = re.compile(r"[a-zA-Z0-9]{9}", re.ASCII)
_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStyle:
    """How a server wants messages.

    Args:
        dialect: Whose opaque parts and signatures are sent.
        send_reasoning: On which assistant messages reasoning is sent.
        reasoning_member: Where it is sent.
        short_call_ids: Whether the id of a call must be nine letters or digits.
    """

    dialect: str
    send_reasoning: SendReasoning
    reasoning_member: ReasoningMember
    short_call_ids: bool


def encode_message(message: Message, style: MessageStyle) -> bytes:
    """Encode a message.

    Args:
        message: Its content is a plain string where it is text alone.
        style: Of the server.

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
                    "tool_call_id": _call_id(message.tool_call_id, style),
                    "content": _tool_content(message),
                }
            )
        case AssistantMessage():
            return _assistant(message, style)


def _assistant(message: AssistantMessage, style: MessageStyle) -> bytes:
    parts = [
        _opaque(part)
        for part in message.content
        if isinstance(part, Opaque) and part.dialect == style.dialect
    ]
    opaque = [part for part in parts if not _is_details(part)]
    details = [part for part in parts if _is_details(part)]
    text, calls = message.text or message.refusal, message.tool_calls
    if not (text or calls or opaque):
        return b""
    wanted = style.send_reasoning == "always" or (
        style.send_reasoning == "tool_calls" and bool(calls)
    )
    in_content = style.reasoning_member == "thinking"
    thoughts = _thoughts(message, style) if wanted and in_content else []
    body: dict[str, object] = {"role": "assistant", "content": text or None}
    if opaque or thoughts:
        body["content"] = [
            *thoughts,
            *([{"type": "text", "text": text}] if text else []),
            *opaque,
        ]
    if calls:
        body["tool_calls"] = [_call(call, style) for call in calls]
    for each in details:  # all that the reasoning would say, and more
        body |= each
    if wanted and not (in_content or details):
        said = "".join(part.text for part in _own_reasoning(message, style))
        body |= {style.reasoning_member: said} if said else {}
    return dump_json(body)


def _thoughts(message: AssistantMessage, style: MessageStyle) -> list[object]:
    """Reasoning as parts of the content; a signature goes to whose it is alone."""
    thoughts = list[object]()
    for part in _own_reasoning(message, style):
        if part.text:
            thought: dict[str, object] = {
                "type": "thinking",
                "thinking": [{"type": "text", "text": part.text}],
            }
            if part.signature and part.dialect:
                thought["signature"] = part.signature
            thoughts.append(thought)
    return thoughts


def _own_reasoning(message: AssistantMessage, style: MessageStyle) -> list[Reasoning]:
    """What the model may have thought: not what another provider has signed."""
    return [
        part
        for part in message.content
        if isinstance(part, Reasoning) and part.dialect in (None, style.dialect)
    ]


def _opaque(part: Opaque) -> object:
    try:
        return load_json(part.data)
    except ValueError as error:
        raise RequestError(
            f"a part of dialect {part.dialect!r} is not JSON: {error}"
        ) from None


def _is_details(part: object) -> TypeGuard[dict[str, object]]:
    return is_object(part) and part.keys() == {MEMBER}


def _call(call: ToolCall, style: MessageStyle) -> dict[str, object]:
    return {
        "id": _call_id(call.id, style),
        "type": "function",
        "function": {
            # A name that the model dreamed up may be one that servers refuse for ever.
            "name": wire_name(call.name),
            "arguments": strict_arguments(call.arguments),
        },
    }


def _call_id(id_: str, style: MessageStyle) -> str:
    """The id, or where the server cannot take it another that is always the same."""
    if not style.short_call_ids or _SHORT_ID.fullmatch(id_):
        return id_
    return sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:9]


def _user_content(parts: tuple[UserPart, ...]) -> str | list[dict[str, object]]:
    if all(isinstance(part, Text) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, Text))
    return [_user_part(in_bytes(part)) for part in parts]


def _user_part(part: UserPart) -> dict[str, object]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            url = part.url or data_url(part)
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
            document = {"filename": part.name, "file_data": data_url(part)}
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
    return told_text(message)
