"""How a model is told what type its answer shall have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reactivex import Observable

from rxagent.chain import around, before
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

__all__ = ["answer_mode_of", "asking_for"]

_TOOL = "give_answer"


def answer_mode_of(model: Exchange) -> AnswerMode:
    """How a model is told; it says so in an attribute of this name, ``answer_mode``."""
    mode: AnswerMode = getattr(model, "answer_mode", "prompt")
    return mode


def asking_for(output: OutputType[object], mode: AnswerMode) -> Advisor:
    """Make the advisor that tells the model; it belongs innermost, in each round.

    There it leaves no trace in what memory keeps and in what the loop forwards.

    Args:
        output: What the answer shall be.
        mode: How it is told.

    Raises:
        ConfigurationError: If it is none of the modes.
    """
    check_choice("mode", mode, AnswerMode)
    match mode:
        case "native":
            advisor = before(lambda request: _with_schema(request, output.asked))
        case "prompt":
            advisor = before(lambda request: _with_words(request, output.asked))
        case "tool":
            advisor = _by_tool(output.asked)
    return named("answer", advisor, settings=mode)


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


def _by_tool(schema: JsonSchema) -> Advisor:
    spec = ToolSpec(
        name=_TOOL,
        description="Give the answer. Call this alone, once you know it.",
        parameters=schema,
    )

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        if any(each.name == _TOOL for each in request.tools):
            raise RequestError(
                f"a tool is named {_TOOL!r}, as the one that takes the answer is; "
                "rename it, or ask with mode='native' or mode='prompt'"
            )
        choice = "required" if request.tools else _TOOL
        told = replace(
            request,
            tools=(*request.tools, spec),
            options=replace(request.options, tool_choice=choice),
        )
        return just(told).pipe(inner, transduce(_CallAsText))

    return around(handle)


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
        finish_reason="tool_calls" if answer.tool_calls else "stop",
    )
