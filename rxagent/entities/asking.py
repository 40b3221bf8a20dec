"""How a model is told what type its answer shall have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from reactivex import Observable

from rxagent.chain import around
from rxagent.choices import check_choice
from rxagent.errors import RequestError
from rxagent.events import ChatEvent, Finished, TextDelta, ToolCallDelta
from rxagent.messages import AssistantMessage, AssistantPart, SystemMessage, Text
from rxagent.named import named
from rxagent.operators import just, transduce
from rxagent.output import OutputType
from rxagent.requests import ChatRequest, JsonSchema, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.types import Advisor, AnswerMode, Exchange
from rxagent.wire.json_text import dump_json

__all__ = ["asking_for", "mode_of"]

_TOOL = "give_answer"


def asking_for(
    output: OutputType[object], *, model: Exchange, mode: AnswerMode | None = None
) -> Advisor:
    """Make the advisor that tells the model; it belongs innermost, in each round.

    There it leaves no trace in what memory keeps and in what the loop forwards.

    Args:
        output: What the answer shall be.
        model: Says how it is told, by a method ``answer_mode`` of a request that has
            the schema as an option.  One that says nothing is told in words.
        mode: How it is told, whatever the model says.

    Raises:
        ConfigurationError: If it is none of the modes.
    """
    if mode is not None:
        check_choice("mode", mode, AnswerMode)
    asked = output.asked

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        with_schema = _with_schema(request, asked)
        match mode or mode_of(model, with_schema):
            case "native":
                return just(with_schema).pipe(inner)
            case "prompt":
                return just(_with_words(request, asked)).pipe(inner)
            case "tool":
                told = _with_tool(request, asked)
                return just(told).pipe(inner, transduce(_CallAsText))

    return named("answer", around(handle), settings=mode or "")


def mode_of(model: Exchange, request: ChatRequest) -> AnswerMode:
    """How a model is told the type of its answer; in words, if it says nothing.

    Args:
        model: Says it by a method ``answer_mode``.
        request: Has the schema as an option.
    """
    says: Callable[[ChatRequest], AnswerMode] | None
    says = getattr(model, "answer_mode", None)
    return "prompt" if says is None else says(request)


def _with_schema(request: ChatRequest, schema: JsonSchema) -> ChatRequest:
    return replace(request, options=replace(request.options, response_schema=schema))


def _with_words(request: ChatRequest, schema: JsonSchema) -> ChatRequest:
    words = (
        "Give your answer as JSON alone, without prose and without a fence. "
        f"It must fit this JSON Schema: {dump_json(dict(schema)).decode()}"
    )
    first, *rest = request.messages
    if not isinstance(first, SystemMessage):
        return replace(request, messages=(SystemMessage.of(words), first, *rest))
    told = replace(first, content=(*first.content, Text(text=f"\n\n{words}")))
    return replace(request, messages=(told, *rest))


def _with_tool(request: ChatRequest, schema: JsonSchema) -> ChatRequest:
    if any(each.name == _TOOL for each in request.tools):
        raise RequestError(
            f"a tool is named {_TOOL!r}, as the one that takes the answer is; "
            "rename it, or ask with mode='native' or mode='prompt'"
        )
    spec = ToolSpec(
        name=_TOOL,
        description="Give the answer. Call this alone, once you know it.",
        parameters=schema,
    )
    choice = request.options.tool_choice
    if not request.tools or choice == "none":
        choice = _TOOL
    elif choice in (None, "auto"):
        choice = "required"
    return replace(
        request,
        tools=(*request.tools, spec),
        options=replace(request.options, tool_choice=choice),
    )


class _CallAsText:
    """Makes text of the call that gives the answer."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}  # of calls, by their index
        self._waiting: dict[int, list[ChatEvent]] = {}  # whose name is not whole

    def feed(self, event: ChatEvent, /) -> Sequence[ChatEvent]:
        if isinstance(event, Finished):
            return (replace(event, response=_as_text(event.response)),)
        if not isinstance(event, ToolCallDelta):
            return (event,)
        name = self._names.get(event.index, "") + (event.name or "")
        self._names[event.index] = name
        if name == _TOOL:
            self._waiting.pop(event.index, None)
            text = event.arguments
            return (TextDelta(text=text, origin=event.origin),) if text else ()
        waiting = [*self._waiting.pop(event.index, ()), event]
        if _TOOL.startswith(name) and not event.arguments:
            self._waiting[event.index] = waiting
            return ()
        return waiting

    def flush(self) -> Sequence[ChatEvent]:
        return ()


def _as_text(response: ChatResponse) -> ChatResponse:
    message = response.message
    if not any(call.name == _TOOL for call in message.tool_calls):
        return response
    parts: tuple[AssistantPart, ...] = tuple(
        Text(text=part.arguments)
        if part.type == "tool_call" and part.name == _TOOL
        else part
        for part in message.content
        if part.type != "text"  # words around the call are no part of the answer
    )
    answer: AssistantMessage = replace(message, content=parts)
    return replace(
        response,
        message=answer,
        transcript=tuple(
            answer if each.id == message.id else each for each in response.transcript
        ),
        # A call that was cut off says so, and stays a cut answer.
        finish_reason="stop"
        if response.finish_reason == "tool_calls" and not answer.tool_calls
        else response.finish_reason,
    )
