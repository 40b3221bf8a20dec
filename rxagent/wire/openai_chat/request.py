"""A chat request as the body that OpenAI-compatible servers read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from rxagent.errors import RequestError
from rxagent.messages import Message, SystemMessage
from rxagent.requests import ChatOptions, ChatRequest, JsonSchema, ToolSpec
from rxagent.wire.extra import with_extra
from rxagent.wire.joined import encoded_once, joined
from rxagent.wire.json_text import dump_json
from rxagent.wire.names import check_names, wire_name
from rxagent.wire.openai_chat.messages import MessageStyle, encode_message
from rxagent.wire.strict_schema import strict_schema
from rxagent.wire.turns import in_turns, instructions

__all__ = ["RequestEncoder"]

_UNASKED = {"tool_choice": "auto"}  # what a server does if nothing is said


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEncoder:
    """Encode requests; messages remember their bytes under it.

    Args:
        style: Of the messages.
        asks_for_usage: Whether to ask a stream for token counts.
        names: The server's own names of members.
        refused: Members that the server refuses, or takes and does not heed.
        strict_schemas: Whether answers are held to their schema, where it can be said.
    """

    style: MessageStyle
    asks_for_usage: bool
    strict_schemas: bool
    names: Mapping[str, str]
    refused: Set[str]

    @property
    def _key(self) -> str:
        style = self.style
        return (
            f"openai-chat {style.dialect} {style.send_reasoning} "
            f"{style.reasoning_member} {style.short_call_ids}"
        )

    def body(self, request: ChatRequest, *, model: str, stream: bool) -> bytes:
        """Return the body of a request.

        Args:
            request: What to ask.
            model: Used if the request's options name none.
            stream: Whether the answer shall come in pieces.

        Raises:
            RequestError: If the format cannot express the request.
        """
        members = self._head(request, model=model, stream=stream)
        try:
            head = dump_json(members)
        except (ValueError, TypeError) as error:
            raise RequestError(f"the options are not JSON: {error}") from None
        messages = joined(request.messages, key=self._key, encode=self._messages)
        if not messages:
            raise RequestError("there is no message to send")
        return b'%b,"messages":[%b]}' % (head[:-1], messages)

    def _messages(self, messages: tuple[Message, ...]) -> Iterable[bytes]:
        """The messages on the wire: instructions first, results behind their calls."""
        if text := instructions(messages):
            yield self._encoded(SystemMessage.of(text))
        for message in in_turns(messages):
            if encoded := self._encoded(message):
                yield encoded

    def _encoded(self, message: Message) -> bytes:
        """The bytes of a message; none if there is nothing to send."""
        return encoded_once(
            message,
            key=self._key,
            encode=lambda: encode_message(message, self.style),
        )

    def _head(
        self, request: ChatRequest, *, model: str, stream: bool
    ) -> dict[str, object]:
        """Everything but the messages."""
        options = request.options
        if "messages" in options.extra:
            raise RequestError(
                "extra must not hold 'messages'; they are in the request"
            )
        head: dict[str, object] = {"model": options.model or model, "stream": stream}
        # A server refuses stream_options where extra has taken the stream back.
        if options.extra.get("stream", stream) and self.asks_for_usage:
            head["stream_options"] = {"include_usage": True}
        for name, value in self._options(request).items():
            if name not in self.refused:
                head[self.names.get(name, name)] = value
            elif value != _UNASKED.get(name):
                raise RequestError(
                    f"{self.style.dialect} does not take {name!r}, which an option of "
                    "the request asks for; leave it out, or put the provider's own "
                    "word for it into extra"
                )
        return with_extra(head, options.extra)

    def _options(self, request: ChatRequest) -> dict[str, object]:
        """What the options say, under OpenAI's names."""
        options = request.options
        plain: dict[str, object] = {
            "temperature": options.temperature,
            "top_p": options.top_p,
            "max_tokens": options.max_tokens,
            "stop": options.stop,
            "seed": options.seed,
            "reasoning_effort": options.reasoning_effort,
        }
        said = {name: value for name, value in plain.items() if value is not None}
        if options.response_schema is not None:
            said["response_format"] = _response_format(
                options.response_schema, strict=self.strict_schemas
            )
        return said | _tools(request.tools, options)


def _response_format(schema: JsonSchema, *, strict: bool) -> dict[str, object]:
    title = schema.get("title")
    name = wire_name(title) if isinstance(title, str) and title else "answer"
    said: dict[str, object] = {"name": name, "schema": dict(schema)}
    if strict and (held_to := strict_schema(schema)) is not None:
        said |= {"schema": held_to, "strict": True}
    return {"type": "json_schema", "json_schema": said}


def _tools(tools: tuple[ToolSpec, ...], options: ChatOptions) -> dict[str, object]:
    choice = options.tool_choice
    if not tools:
        if choice not in (None, "auto", "none"):
            raise RequestError(f"tool_choice is {choice!r}, but there are no tools")
        return {}
    check_names(tools)
    names = [tool.name for tool in tools]
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
