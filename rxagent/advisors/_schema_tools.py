from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from reactivex import Observable
from reactivex import operators as ops

from rxagent.advisors._by_spelling import Ranking, by_spelling
from rxagent.advisors._choice_prompt import choice_messages
from rxagent.advisors._choice_schema import choice_schema, read_choice
from rxagent.advisors._plain_history import plain_history
from rxagent.advisors._quoted import quoted
from rxagent.chain import around
from rxagent.errors import ConfigurationError, RequestError
from rxagent.events import ChatEvent, Finished, TextDelta, ToolCallDelta
from rxagent.messages import (
    AssistantMessage,
    Message,
    Text,
    ToolCall,
    UserMessage,
)
from rxagent.named import Order, named
from rxagent.operators import expand_rounds, just, transduce
from rxagent.requests import ChatRequest, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.types import Advisor, Exchange

__all__ = ["schema_tools"]


def schema_tools(
    *,
    max_rounds: int = 1,
    max_tools: int | None = None,
    rank: Ranking = by_spelling,
    max_choice_tokens: int = 512,
    quote: bool = False,
) -> Advisor:
    """Call tools by JSON Schema, for models that cannot call them natively.

    ::

        --q-----------|
        [ schema_tools() ]                q offers tools; inner answers -x-y-F|, the
        --------(c,F)-|                   pieces of {"tool": ..., "arguments": ...}

    A request that offers tools becomes one for a choice: its answer is held to a JSON
    Schema, ``options.response_schema``, that holds the tool and its arguments, and
    leaves as an ordinary tool call ``c``.  If the model chooses no tool, it is asked
    again, without a schema, and that answer streams.  It never sees tools, calls or
    results but in words, so any model with structured output will do.  It belongs
    innermost, right of ``tool_loop()``.

    ``options.tool_choice`` is heeded.  The choice is made at temperature 0, unless the
    request says otherwise.  One tool is called in a round.  A choice that is cut off
    becomes a truncated call, which does not run, if it is clear of which tool.

    Args:
        max_rounds: Rounds of tools in a turn; then the model has to answer.  Small
            models do not know when they are done.
        max_tools: Offer only the first of the ranking.  Default: all.
        rank: Sorts the tools by the last message of the user, if ``max_tools`` is set.
        max_choice_tokens: Longest choice, in tokens; arguments may be long.
        quote: Hold string arguments to words of the user's last message, one behind the
            other, and leave out optional ones that it does not hint at.  The smallest
            models paraphrase what they should copy.  Needs a server that heeds
            ``pattern`` in a schema, as llama.cpp does.

    Returns:
        An advisor.  A choice that is no JSON of the kind that was asked for is a
        `MalformedResponseError`: the server does not heed ``response_schema``.

    Raises:
        ConfigurationError: If a limit is not positive.
    """
    for option, value in (
        ("max_rounds", max_rounds),
        ("max_tools", max_tools),
        ("max_choice_tokens", max_choice_tokens),
    ):
        if value is not None and value < 1:
            raise ConfigurationError(f"{option} must be 1 or more, got {value}")

    def offered(request: ChatRequest) -> tuple[ToolSpec, ...]:
        choice = request.options.tool_choice
        if choice == "none" or _rounds(request.messages) >= max_rounds:
            return ()
        if choice in (None, "auto", "required"):
            tools = request.tools
        else:
            tools = tuple(tool for tool in request.tools if tool.name == choice)
            if not tools:
                raise RequestError(
                    f"tool_choice is {choice!r}, but the tools are "
                    f"{', '.join(tool.name for tool in request.tools) or '-'}"
                )
        if max_tools is None or len(tools) <= max_tools:
            return tools
        return tuple(rank(_last_words(request.messages), tools)[:max_tools])

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        tools = offered(request)
        if not tools:
            return just(_for_answer(request)).pipe(inner)
        turn = _Turn(request)
        asked = _for_choice(request, tools, max_tokens=max_choice_tokens, quote=quote)
        return just(asked).pipe(
            inner,
            transduce(lambda: turn),
            expand_rounds(_nothing, _ignore, lambda _: turn.answer(inner)),
        )

    return named(
        "schema_tools",
        around(handle),
        settings=f"max_rounds={max_rounds}",
        order=Order.LAST,
    )


class _Turn:
    """Takes the choice of one request: holds its text back, and says what follows."""

    def __init__(self, request: ChatRequest) -> None:
        self._request = request
        self._held: list[TextDelta] = []
        self._declined: ChatResponse | None = None

    def feed(self, event: ChatEvent, /) -> Iterable[ChatEvent]:
        match event:
            case TextDelta():
                self._held.append(event)
                return ()
            case Finished(response=response) if _is_choice(response):
                return self._chosen(event)
            case Finished():  # somebody else answered, or refused to
                return (*self._held, event)
            case _:
                return (event,)

    def flush(self) -> Iterable[ChatEvent]:
        return ()

    def answer(self, inner: Exchange) -> Observable[ChatEvent] | None:
        """The answer in words, if the model chose no tool."""
        declined, self._declined = self._declined, None
        if declined is None:
            return None
        request = _for_answer(
            replace(self._request, context=self._request.context | declined.context)
        )

        def add_usage(event: ChatEvent) -> ChatEvent:
            if not isinstance(event, Finished):
                return event
            usage = declined.usage + event.response.usage
            return replace(event, response=replace(event.response, usage=usage))

        return just(request).pipe(inner, ops.map(add_usage))

    def _chosen(self, event: Finished) -> Iterable[ChatEvent]:
        response = event.response
        choice = read_choice(response)
        if choice is None:
            self._declined = response
            return ()
        call = ToolCall(
            id=_new_id(self._request.messages),
            name=choice.tool,
            arguments=choice.arguments,
            truncated=choice.truncated,
        )
        thoughts = (
            each for each in response.message.content if not isinstance(each, Text)
        )
        called = replace(
            response,
            message=AssistantMessage.of(*thoughts, call),
            finish_reason="length" if choice.truncated else "tool_calls",
            transcript=(),
            offered=self._request.tools,
        )
        delta = ToolCallDelta(
            index=0,
            id=call.id,
            name=call.name,
            arguments=call.arguments,
            origin=event.origin,
        )
        return delta, replace(event, response=called)


def _for_choice(
    request: ChatRequest, tools: Sequence[ToolSpec], *, max_tokens: int, quote: bool
) -> ChatRequest:
    options = request.options
    allowed = _quoting(request, tools) if quote else tools
    may_decline = options.tool_choice in (None, "auto")
    return replace(
        request,
        messages=choice_messages(request.messages, tools, may_decline=may_decline),
        tools=(),
        options=replace(
            options,
            response_schema=choice_schema(allowed, may_decline=may_decline),
            temperature=0.0 if options.temperature is None else options.temperature,
            max_tokens=max_tokens,
            stop=None,
            tool_choice=None,
            parallel_tool_calls=None,
        ),
    )


def _quoting(request: ChatRequest, tools: Sequence[ToolSpec]) -> list[ToolSpec]:
    words = _last_words(request.messages)
    return [
        ToolSpec(
            name=each.name,
            description=each.description,
            parameters=quoted(each.parameters, words),
        )
        for each in tools
    ]


def _for_answer(request: ChatRequest) -> ChatRequest:
    request = replace(request, messages=plain_history(request.messages))
    if not request.tools:
        return request
    options = replace(request.options, tool_choice=None, parallel_tool_calls=None)
    return replace(request, tools=(), options=options)


def _rounds(messages: Iterable[Message]) -> int:
    """How many rounds of tools the open turn has had."""
    rounds = 0
    for message in messages:
        if isinstance(message, UserMessage):
            rounds = 0
        elif isinstance(message, AssistantMessage) and message.tool_calls:
            rounds += 1
    return rounds


def _last_words(messages: Sequence[Message]) -> str:
    users = [each for each in messages if isinstance(each, UserMessage)]
    return users[-1].text if users else ""


def _new_id(messages: Iterable[Message]) -> str:
    """An id that no call of the conversation has, and the same one each time."""
    taken = {
        call.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    }
    number = len(taken)
    while f"call_{number}" in taken:
        number += 1
    return f"call_{number}"


def _is_choice(response: ChatResponse) -> bool:
    return (
        response.blocked_by is None
        and not response.tool_calls
        and response.finish_reason in ("stop", "length", "unknown")
    )


def _nothing() -> None:
    return None


def _ignore(_: None, __: ChatEvent) -> None:
    return None
