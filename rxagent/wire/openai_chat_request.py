"""A chat request as the body that OpenAI-compatible servers read.

A message is encoded once, when it is first sent, and a body is a join of bytes, so that
the rounds of a long tool loop cost what they send and no more.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
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
from rxagent.requests import ChatOptions, ChatRequest, JsonSchema, ToolSpec
from rxagent.wire.arguments import strict_arguments
from rxagent.wire.json_text import dump_json, load_json

__all__ = ["RequestEncoder", "SendReasoning"]

SendReasoning: TypeAlias = Literal["never", "tool_calls", "always"]
"""On which assistant messages reasoning goes back to the provider."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]", re.ASCII)
_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEncoder:
    """Encode requests; messages remember their bytes under it.

    Args:
        dialect: Whose opaque parts are sent back.
        send_reasoning: On which assistant messages reasoning is sent back.
    """

    dialect: str
    send_reasoning: SendReasoning

    def body(self, request: ChatRequest, *, model: str, stream: bool) -> bytes:
        """Return the body of a request.

        Args:
            request: What to ask.
            model: Used if the request's options name none.
            stream: Whether the answer shall come in pieces.

        Raises:
            RequestError: If the format cannot express the request.
        """
        try:
            head = dump_json(_head(request, model=model, stream=stream))
        except (ValueError, TypeError) as error:
            raise RequestError(f"the options are not JSON: {error}") from None
        messages = b",".join(self._messages(request.messages))
        if not messages:
            raise RequestError("there is no message to send")
        return b'%b,"messages":[%b]}' % (head[:-1], messages)

    def _messages(self, messages: tuple[Message, ...]) -> Iterable[bytes]:
        """The messages on the wire: instructions first, results behind their calls."""
        systems = [each for each in messages if isinstance(each, SystemMessage)]
        if len(systems) == 1:
            yield self._encoded(systems[0])
        elif systems:
            text = "\n\n".join(each.text for each in systems)
            yield self._encoded(SystemMessage.of(text))
        results: defaultdict[str, deque[ToolMessage]] = defaultdict(deque)
        for message in messages:
            if isinstance(message, ToolMessage):
                results[message.tool_call_id].append(message)
        for message in messages:
            if isinstance(message, UserMessage):
                yield self._encoded(message)
            elif isinstance(message, AssistantMessage):
                if encoded := self._encoded(message):
                    yield encoded
                for call in message.tool_calls:
                    if not results[call.id]:
                        raise RequestError(
                            f"the call {call.id!r} of tool {call.name!r} has no "
                            "result; a model refuses a history with open calls"
                        )
                    yield self._encoded(results[call.id].popleft())
        for waiting in results.values():
            if waiting:
                raise RequestError(
                    f"the result of tool {waiting[0].name!r} answers the call "
                    f"{waiting[0].tool_call_id!r}, which is not in the messages"
                )

    def _encoded(self, message: Message) -> bytes:
        """The bytes of a message; none if there is nothing to send."""
        return message.encoded(self, lambda: self._encode(message))

    def _encode(self, message: Message) -> bytes:
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
                return self._assistant(message)

    def _assistant(self, message: AssistantMessage) -> bytes:
        opaque = [
            part
            for part in message.content
            if isinstance(part, Opaque) and part.dialect == self.dialect
        ]
        text, calls = message.text or message.refusal, message.tool_calls
        if not (text or calls or opaque):
            return b""
        body: dict[str, object] = {"role": "assistant", "content": text or None}
        if opaque:
            body["content"] = [
                *([{"type": "text", "text": text}] if text else []),
                *(load_json(part.data) for part in opaque),
            ]
        if calls:
            body["tool_calls"] = [_call(call) for call in calls]
        sends = self.send_reasoning
        if (
            sends == "always" or (sends == "tool_calls" and calls)
        ) and message.reasoning:
            body["reasoning_content"] = message.reasoning
        return dump_json(body)


def _head(request: ChatRequest, *, model: str, stream: bool) -> dict[str, object]:
    """Everything but the messages."""
    options = request.options
    head: dict[str, object] = {"model": options.model or model, "stream": stream}
    if stream:
        head["stream_options"] = {"include_usage": True}
    plain: dict[str, object] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "max_tokens": options.max_tokens,
        "stop": options.stop,
        "seed": options.seed,
        "reasoning_effort": options.reasoning_effort,
    }
    head |= {name: value for name, value in plain.items() if value is not None}
    if options.response_schema is not None:
        head["response_format"] = _response_format(options.response_schema)
    head |= _tools(request.tools, options)
    if "messages" in options.extra:
        raise RequestError("extra must not hold 'messages'; they are in the request")
    return head | dict(options.extra)


def _response_format(schema: JsonSchema) -> dict[str, object]:
    title = schema.get("title")
    name = _wire_name(title) if isinstance(title, str) and title else "answer"
    return {
        "type": "json_schema",
        "json_schema": {"name": name, "schema": dict(schema)},
    }


def _tools(tools: tuple[ToolSpec, ...], options: ChatOptions) -> dict[str, object]:
    choice = options.tool_choice
    if not tools:
        if choice not in (None, "auto", "none"):
            raise RequestError(f"tool_choice is {choice!r}, but there are no tools")
        return {}
    names = [tool.name for tool in tools]
    for name in names:
        if not _NAME.fullmatch(name):
            raise RequestError(
                f"the tool name {name!r} cannot be sent; use 1 to 64 letters, digits, "
                "'_' and '-'"
            )
    body: dict[str, object] = {"tools": [_tool(tool) for tool in tools]}
    if choice in names:
        body["tool_choice"] = {"type": "function", "function": {"name": choice}}
    elif choice in ("auto", "none", "required"):
        body["tool_choice"] = choice
    elif choice is not None:
        raise RequestError(
            f"tool_choice is {choice!r}, but the tools are {', '.join(names)}"
        )
    if options.parallel_tool_calls is not None:
        body["parallel_tool_calls"] = options.parallel_tool_calls
    return body


def _tool(tool: ToolSpec) -> dict[str, object]:
    about = {"description": tool.description} if tool.description else {}
    function = {"name": tool.name, **about, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _call(call: ToolCall) -> dict[str, object]:
    return {
        "id": call.id,
        "type": "function",
        "function": {
            # A name that the model dreamed up may be one that servers refuse for ever.
            "name": _wire_name(call.name),
            "arguments": strict_arguments(call.arguments),
        },
    }


def _wire_name(name: str) -> str:
    return _NOT_IN_NAME.sub("_", name)[:64] or "unnamed"


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
