"""A chat request as the body that the Responses API reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rxagent.errors import RequestError
from rxagent.messages import AssistantMessage, Message, ToolMessage, UserMessage
from rxagent.requests import ChatOptions, ChatRequest, JsonSchema, ToolSpec
from rxagent.wire.joined import encoded_once, joined
from rxagent.wire.json_text import dump_json, is_array, is_object
from rxagent.wire.names import check_names, wire_name
from rxagent.wire.openai_responses.messages import encode_message
from rxagent.wire.strict_schema import strict_schema
from rxagent.wire.turns import in_turns, instructions

__all__ = ["RequestEncoder"]

_ENCRYPTED = "reasoning.encrypted_content"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEncoder:
    """Encode requests; messages remember their bytes under it.

    Args:
        dialect: Whose opaque parts are sent back.
        encrypted_reasoning: Whether to ask for it.
        stored: Whether the provider keeps what it has said.
    """

    dialect: str
    encrypted_reasoning: bool
    stored: bool

    @property
    def _key(self) -> str:
        return f"openai-responses {self.dialect} {self.stored}"

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
        items = joined(request.messages, key=self._key, encode=self._items)
        if not items:
            raise RequestError("there is no message to send")
        return b'%b,"input":[%b]}' % (head[:-1], items)

    def _items(self, messages: tuple[Message, ...]) -> Iterable[bytes]:
        for message in in_turns(messages):
            if encoded := self._encoded(message):
                yield encoded

    def _encoded(self, message: UserMessage | AssistantMessage | ToolMessage) -> bytes:
        """The bytes of a message; none if there is nothing to send."""
        return encoded_once(
            message,
            key=self._key,
            encode=lambda: encode_message(
                message, dialect=self.dialect, stored=self.stored
            ),
        )

    def _head(
        self, request: ChatRequest, *, model: str, stream: bool
    ) -> dict[str, object]:
        """Everything but the messages."""
        options = request.options
        _check(request)
        head: dict[str, object] = {
            "model": options.model or model,
            "stream": stream,
            "store": False,
        }
        if self.encrypted_reasoning:
            head["include"] = [_ENCRYPTED]
        if told := instructions(request.messages):
            head["instructions"] = told
        plain: dict[str, object] = {
            "temperature": options.temperature,
            "top_p": options.top_p,
            "max_output_tokens": options.max_tokens,
        }
        head |= {name: value for name, value in plain.items() if value is not None}
        if options.reasoning_effort is not None:
            head["reasoning"] = {"effort": options.reasoning_effort}
        if options.response_schema is not None:
            head["text"] = {"format": _format(options.response_schema)}
        head |= _tools(request.tools, options)
        return _with_extra(head, options.extra)


def _check(request: ChatRequest) -> None:
    options = request.options
    for name, value in (("stop", options.stop), ("seed", options.seed)):
        if value not in (None, ()):
            raise RequestError(
                f"the Responses API has no {name!r}; leave it out, or use OpenAIChat"
            )
    if "input" in options.extra:
        raise RequestError("extra must not hold 'input'; the messages are in it")
    if "instructions" in options.extra and instructions(request.messages):
        raise RequestError(
            "extra must not hold 'instructions' where there are system messages, "
            "which are sent there"
        )


def _with_extra(
    head: dict[str, object], extra: Mapping[str, object]
) -> dict[str, object]:
    """Add ``extra``: to an object its members, to a list its items."""
    body = dict(head)
    for name, value in extra.items():
        ours = head.get(name)
        if is_object(ours) and isinstance(value, Mapping):
            body[name] = {**ours, **value}
        elif is_array(ours) and isinstance(value, list | tuple):
            body[name] = [*ours, *value]
        else:
            body[name] = value
    return body


def _format(schema: JsonSchema) -> dict[str, object]:
    title = schema.get("title")
    name = wire_name(title) if isinstance(title, str) and title else "answer"
    strict = strict_schema(schema)
    return {
        "type": "json_schema",
        "name": name,
        "schema": dict(strict or schema),
        # The default is strict, which refuses what strict_schema cannot say.
        "strict": strict is not None,
    }


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
        body["tool_choice"] = {"type": "function", "name": choice}
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
    return {
        "type": "function",
        "name": tool.name,
        **about,
        "parameters": dict(tool.parameters),
        # The default is strict, which refuses most schemas that others take.
        "strict": False,
    }
