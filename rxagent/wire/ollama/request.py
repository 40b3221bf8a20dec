"""A chat request as the body that Ollama reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from rxagent.errors import RequestError
from rxagent.messages import Message, SystemMessage
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.wire.extra import with_extra
from rxagent.wire.grammar_schema import grammar_schema
from rxagent.wire.joined import encoded_once, joined
from rxagent.wire.json_text import dump_json
from rxagent.wire.ollama.messages import encode_message
from rxagent.wire.turns import in_turns, instructions

__all__ = ["encode_request"]

# Its own levels, and OpenAI's words as Ollama's compatible endpoint reads them.
_THINK: dict[str, bool | str] = {
    "none": False,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "max",
    "max": "max",
}


def encode_request(
    request: ChatRequest, *, dialect: str, model: str, stream: bool
) -> bytes:
    """Return the body of a request.

    Args:
        request: What to ask.
        dialect: Whose signed reasoning is sent back.
        model: Used if the request's options name none.
        stream: Whether the answer shall come in pieces.

    Raises:
        RequestError: If the format cannot express the request.
    """
    members = _head(request, model=model, stream=stream)
    try:
        head = dump_json(members)
    except (ValueError, TypeError) as error:
        raise RequestError(f"the options are not JSON: {error}") from None
    messages = joined(
        request.messages,
        key=f"ollama {dialect}",
        encode=lambda some: _messages(some, dialect),
    )
    if not messages:
        raise RequestError("there is no message to send")
    return b'%b,"messages":[%b]}' % (head[:-1], messages)


def _messages(messages: tuple[Message, ...], dialect: str) -> Iterable[bytes]:
    """The messages on the wire: instructions first, results behind their calls."""
    if text := instructions(messages):
        yield encode_message(SystemMessage.of(text), dialect=dialect)
    for message in in_turns(messages):
        if encoded := _encoded(message, dialect):
            yield encoded


def _encoded(message: Message, dialect: str) -> bytes:
    """The bytes of a message; none if there is nothing to send."""
    return encoded_once(
        message,
        key=f"ollama {dialect}",
        encode=lambda: encode_message(message, dialect=dialect),
    )


def _head(request: ChatRequest, *, model: str, stream: bool) -> dict[str, object]:
    """Everything but the messages."""
    options = request.options
    head: dict[str, object] = {"model": options.model or model, "stream": stream}
    if options.response_schema is not None:
        head["format"] = grammar_schema(options.response_schema)
    if options.reasoning_effort is not None:
        head["think"] = _think(options.reasoning_effort)
    if tools := _tools(request.tools, options):
        head["tools"] = tools
    sampling: dict[str, object] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "num_predict": options.max_tokens,
        "stop": options.stop,
        "seed": options.seed,
    }
    sampling = {name: value for name, value in sampling.items() if value is not None}
    if "messages" in options.extra:
        raise RequestError("extra must not hold 'messages'; they are in the request")
    extra = dict(options.extra)
    # The options of Ollama are an object of their own, and both may set some.
    more = extra.pop("options", {})
    if not isinstance(more, Mapping):
        raise RequestError(f"extra['options'] must be a mapping, got {more!r}")
    if sampling or more:
        head["options"] = {**sampling, **cast("Mapping[str, object]", more)}
    return with_extra(head, extra)


def _think(effort: str) -> bool | str:
    if effort not in _THINK:
        raise RequestError(
            f"reasoning_effort is {effort!r}, and Ollama knows {', '.join(_THINK)}; "
            "extra={'think': ...} sends anything else"
        )
    return _THINK[effort]


def _tools(tools: tuple[ToolSpec, ...], options: ChatOptions) -> list[object]:
    """The tools; none where the model shall not call any."""
    choice = options.tool_choice
    if choice not in (None, "auto", "none"):
        raise RequestError(
            f"tool_choice is {choice!r}, and Ollama leaves the choice to the model; "
            "give it only the tools that fit, or put schema_tools() around it"
        )
    if options.parallel_tool_calls is False and tools:
        raise RequestError(
            "parallel_tool_calls is False, and Ollama cannot ask a model for one call "
            "at a time"
        )
    return [_tool(tool) for tool in tools] if choice != "none" else []


def _tool(tool: ToolSpec) -> dict[str, object]:
    about = {"description": tool.description} if tool.description else {}
    function = {"name": tool.name, **about, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}
