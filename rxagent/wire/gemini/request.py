"""A chat request as the body that Gemini reads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rxagent.errors import RequestError
from rxagent.messages import AssistantMessage, Message, ToolMessage, UserMessage
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.wire.gemini.messages import encode_message
from rxagent.wire.joined import encoded_once, joined
from rxagent.wire.json_text import dump_json, is_array, is_object
from rxagent.wire.names import check_names
from rxagent.wire.turns import in_turns, instructions

__all__ = ["RequestEncoder"]

_HAS_BUDGET = re.compile(r"(models/)?gemini-[12]\.")
_BUDGETS = {"minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEncoder:
    """Encode requests; messages remember their bytes under it.

    Args:
        dialect: Whose opaque and signed parts are sent back.
    """

    dialect: str

    @property
    def _key(self) -> str:
        return f"gemini {self.dialect}"

    def body(self, request: ChatRequest, *, model: str) -> bytes:
        """Return the body of a request; the model and streaming are in its address.

        Args:
            request: What to ask.
            model: Used if the request's options name none.

        Raises:
            RequestError: If the format cannot express the request.
        """
        members = _head(request, model=request.options.model or model)
        try:
            head = dump_json(members)
        except (ValueError, TypeError) as error:
            raise RequestError(f"the options are not JSON: {error}") from None
        contents = joined(request.messages, key=self._key, encode=self._contents)
        if not contents:
            raise RequestError("there is no message to send")
        comma = b"," if head != b"{}" else b""
        return b'%b%b"contents":[%b]}' % (head[:-1], comma, contents)

    def _contents(self, messages: tuple[Message, ...]) -> Iterable[bytes]:
        """The messages on the wire, the results of a batch of calls in one."""
        results: list[bytes] = []
        for message in in_turns(messages):
            encoded = self._encoded(message)
            if isinstance(message, ToolMessage):
                results.append(encoded)
                continue
            if results:
                yield _together(results)
                results = []
            if encoded:
                yield encoded
        if results:
            yield _together(results)

    def _encoded(self, message: UserMessage | AssistantMessage | ToolMessage) -> bytes:
        return encoded_once(
            message,
            key=self._key,
            encode=lambda: encode_message(message, dialect=self.dialect),
        )


def _together(results: list[bytes]) -> bytes:
    return b'{"role":"user","parts":[%b]}' % b",".join(results)


def _head(request: ChatRequest, *, model: str) -> dict[str, object]:
    """Everything but the messages."""
    options = request.options
    head: dict[str, object] = {}
    if text := instructions(request.messages):
        head["systemInstruction"] = {"parts": [{"text": text}]}
    head |= _tools(request.tools, options)
    if generation := _generation(options, model=model):
        head["generationConfig"] = generation
    if "contents" in options.extra:
        raise RequestError("extra must not hold 'contents'; they are in the request")
    return _merged(head, options.extra)


def _generation(options: ChatOptions, *, model: str) -> dict[str, object]:
    plain: dict[str, object] = {
        "temperature": options.temperature,
        "topP": options.top_p,
        "maxOutputTokens": options.max_tokens,
        "stopSequences": options.stop,
        "seed": options.seed,
    }
    config = {name: value for name, value in plain.items() if value is not None}
    if options.response_schema is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = dict(options.response_schema)
    if options.reasoning_effort is not None:
        config["thinkingConfig"] = _thinking(options.reasoning_effort, model=model)
    return config


def _thinking(effort: str, *, model: str) -> dict[str, object]:
    """A level; models before Gemini 3 know budgets alone.

    Source: https://ai.google.dev/gemini-api/docs/openai, where Google maps efforts.
    """
    if effort == "none":
        return {"thinkingBudget": 0}
    if not _HAS_BUDGET.match(model):
        return {"thinkingLevel": effort, "includeThoughts": True}
    if effort not in _BUDGETS:
        raise RequestError(
            f"reasoning_effort is {effort!r}, but {model} takes none, "
            f"{', '.join(_BUDGETS)}; for another budget use extra="
            "{'generationConfig': {'thinkingConfig': {'thinkingBudget': ...}}}"
        )
    return {"thinkingBudget": _BUDGETS[effort], "includeThoughts": True}


def _tools(tools: tuple[ToolSpec, ...], options: ChatOptions) -> dict[str, object]:
    if options.parallel_tool_calls is False:
        raise RequestError(
            "Gemini cannot be asked for one call at a time; "
            "leave out parallel_tool_calls=False"
        )
    choice = options.tool_choice
    if not tools:
        if choice not in (None, "auto", "none"):
            raise RequestError(f"tool_choice is {choice!r}, but there are no tools")
        return {}
    check_names(tools)
    declared = {"functionDeclarations": [_declaration(tool) for tool in tools]}
    body: dict[str, object] = {"tools": [declared]}
    names = [tool.name for tool in tools]
    if choice in names:
        config: dict[str, object] = {"mode": "ANY", "allowedFunctionNames": [choice]}
    elif choice in _MODES:
        config = {"mode": _MODES[choice]}
    elif choice is None:
        return body
    else:
        raise RequestError(
            f"tool_choice is {choice!r}, but the tools are {', '.join(names)}"
        )
    body["toolConfig"] = {"functionCallingConfig": config}
    return body


def _declaration(tool: ToolSpec) -> dict[str, object]:
    about = {"description": tool.description} if tool.description else {}
    takes = {"parametersJsonSchema": dict(tool.parameters)} if tool.parameters else {}
    return {"name": tool.name, **about, **takes}


def _merged(body: dict[str, object], extra: Mapping[str, object]) -> dict[str, object]:
    """Add members at any depth, where ``extra`` wins; lists are joined.

    So that a setting does not take out the others beside it, nor a tool of the server
    the tools of the request.
    """
    merged = dict(body)
    for name, value in extra.items():
        before = merged.get(name)
        if is_object(before) and is_object(value):
            merged[name] = _merged(before, value)
        elif is_array(before) and is_array(value):
            merged[name] = [*before, *value]
        else:
            merged[name] = value
    return merged
