"""What one turn of the tool loop has come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from rxagent.advisors._call_limits import LimitWatch
from rxagent.advisors._hand_over import InnerMemory
from rxagent.context import Context
from rxagent.decisions import Decision
from rxagent.errors import RxAgentError
from rxagent.events import (
    ChatEvent,
    Finished,
    RoundFinished,
    TextDelta,
    ToolFinished,
    ToolProgress,
)
from rxagent.messages import AssistantMessage, Message, ToolCall, ToolMessage
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.responses import ChatResponse, Limit
from rxagent.tools import tool_index
from rxagent.tools.state import folded
from rxagent.tools.tool import is_tool
from rxagent.usage import Usage

Eligible = Callable[[ChatResponse, Context], bool]


class Turn:
    """One turn, made for each request, within its subscription.

    Args:
        request: The next one; grows with each round.
        watch: Counts the calls.
        eligible: Whether the calls of a response run.
    """

    def __init__(
        self, request: ChatRequest, watch: LimitWatch, eligible: Eligible | None
    ) -> None:
        self.request = request
        self.watch = watch
        self.is_over = False
        self.is_answered = False
        """Whether the model has ended its answer."""
        self.usage = Usage()
        self.response = ChatResponse(message=AssistantMessage(content=()))
        self.tools: Mapping[str, ToolSpec] = {}
        self.rounds = 0
        """Whose tools have run."""
        self.memory = InnerMemory()
        self.transcript: tuple[Message, ...] = ()
        self.written: frozenset[str] = frozenset()
        """Names that tools wrote."""
        self.decided: dict[int, Decision] = {}
        """About calls of this round, by their identity: two ids may be the same."""
        self.calls: tuple[ToolCall, ...] = ()
        """Of this round, in order, each an object of its own."""
        self._eligible = eligible
        self._results: dict[int, ToolFinished] = {}  # by the place of the call
        self._places: dict[int, int] = {}  # by the identity of a call
        self._edited: list[ToolCall] = []

    @property
    def open_calls(self) -> list[ToolCall]:
        """Of this round, those without a result."""
        return [c for c in self.calls if self._places[id(c)] not in self._results]

    def done(self) -> list[ToolFinished]:
        """The results of this round."""
        # Tools finish in any order; the history has the order of the calls.
        return [self._results[place] for place in sorted(self._results)]

    def failed_calls(self) -> list[ToolCall]:
        """Of this round, those that failed because of their environment."""
        return [
            call
            for place, call in enumerate(self.calls)
            if place in self._results and self._results[place].failure == "environment"
        ]

    def hear(self, event: ChatEvent) -> ChatEvent:
        """Take the end of a model's answer as the end of a round, or of the turn."""
        if not isinstance(event, Finished):
            return event
        event = self.memory.take_off(event)
        response = event.response
        self.is_answered = True
        self._spend(response.usage, response.model)
        if response.blocked_by is None:  # else the model has not said it
            self.transcript += response.transcript or (response.message,)
        context = self.request.context | response.context
        if self._calls_tools(response, context):
            self.request = replace(self.request, context=context)
            self.begin_round(response)
            return RoundFinished(response=response, origin=event.origin)
        return replace(event, response=self._ended(response, context))

    def begin_round(self, response: ChatResponse) -> None:
        """Take an answer whose calls run."""
        self.response = response
        offered = response.offered
        self.tools = tool_index(self.request.tools if offered is None else offered)
        self.decided = {}
        self._results = {}
        self.calls = _told_apart(response.tool_calls)
        self._places = {id(call): n for n, call in enumerate(self.calls)}
        self._edited = []

    def edited(self, call: ToolCall, arguments: str) -> ToolCall:
        """The call with other arguments; what it comes to is the result of ``call``."""
        other = replace(call, arguments=arguments)
        self._places[id(other)] = self._places[id(call)]
        self._edited.append(other)  # alive, so that no other object gets its identity
        return other

    def remember(self, event: ChatEvent) -> None:
        """Take the result of a call of this round; those of an inner agent count."""
        if isinstance(event, ToolProgress):
            inner = _innermost(event)
            if isinstance(inner, ToolFinished) and inner.attempts:
                self.watch.called[inner.call.name] += 1
        if isinstance(event, ToolFinished) and id(event.call) in self._places:
            self._results[self._places[id(event.call)]] = event
            if event.usage is not None:
                answer = event.value if isinstance(event.value, ChatResponse) else None
                self._spend(event.usage, answer.model if answer else None)

    def forget(self, call: ToolCall) -> None:
        """Drop the result of a call: it runs again."""
        del self._results[self._places[id(call)]]

    def accept(self, call: ToolCall) -> None:
        """Leave it to the model that a call failed because of its environment."""
        place = self._places[id(call)]
        self._results[place] = replace(self._results[place], failure="semantic")

    def fold_state(self) -> None:
        """Fold what the tools of this round wrote into the context."""
        writes = [(done.call, write) for done in self.done() for write in done.writes]
        if writes:
            context = folded(self.request.context, writes)
            self.written |= {write.key.name for _, write in writes}
            self.request = replace(self.request, context=context)

    def next_round(self) -> None:
        """Go on to the next request."""
        response, results = self.response, self._results_in_order()
        said = response.transcript or (response.message,)
        self.transcript += results
        self.rounds += 1
        self.request = replace(
            self.request,
            messages=(*self.request.messages, *said, *results),
            options=_free_to_answer(self.request.options),
            origin=replace(self.request.origin, round=self.request.origin.round + 1),
        )

    def answer_now(self) -> None:
        """Let the next request call no tools."""
        options = replace(self.request.options, tool_choice="none")
        self.request = replace(self.request, options=options)

    def returned_direct(self) -> tuple[TextDelta, Finished] | None:
        """The answer and the end of the turn, if the results of its tools are it."""
        done = self.done()
        specs = [self.tools.get(each.call.name) for each in done]
        direct = all(is_tool(spec) and spec.rules.return_direct for spec in specs)
        if not (done and direct) or any(
            each.failure or not each.attempts for each in done
        ):
            return None
        self.transcript += self._results_in_order()
        text = "\n".join(each.message.text for each in done)
        response = replace(
            self.response,
            message=AssistantMessage.of(text),
            finish_reason="return_direct",
        )
        said = TextDelta(text=text, origin=self.request.origin)
        return said, self.end(response)

    def limited(self, limit: Limit) -> Finished:
        """The end of the turn at a limit, with the results that there are."""
        self.transcript += self._results_in_order()
        return self.end(replace(self.response, finish_reason="tool_limit", limit=limit))

    def end(self, response: ChatResponse) -> Finished:
        """The end of the turn after a batch."""
        # Not with the context of the response: the batch has written since.
        self.response = self._ended(response, self.request.context)
        return Finished(response=self.response, origin=self.request.origin)

    def charged(self, error: Exception) -> Exception:
        """The error that ends the turn, with what the turn has cost."""
        return error.after(self.usage) if isinstance(error, RxAgentError) else error

    def _ended(self, response: ChatResponse, context: Context) -> ChatResponse:
        """The response that ends the turn, with what all of it came to."""
        self.is_over = True
        return replace(
            response,
            usage=self.usage,
            transcript=self.transcript,
            context=context,
            cached=response.cached and not self.rounds,  # the round that ends it may be
        )

    def _spend(self, usage: Usage, model: str | None) -> None:
        self.usage += usage
        self.watch.charge(usage, model)

    def _calls_tools(self, response: ChatResponse, context: Context) -> bool:
        if not response.tool_calls or response.blocked_by is not None:
            return False
        return self._eligible is None or self._eligible(response, context)

    def _results_in_order(self) -> tuple[ToolMessage, ...]:
        return tuple(done.message for done in self.done())


def _told_apart(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """A model that is made by hand may say one and the same object twice."""
    if len({id(call) for call in calls}) == len(calls):
        return calls
    return tuple(replace(call) for call in calls)


def _innermost(event: ToolProgress) -> object:
    """What the agent that a tool is reports, or one that is a tool of it."""
    value = event.value
    while isinstance(value, ToolProgress):
        value = value.value
    return value


def _free_to_answer(options: ChatOptions) -> ChatOptions:
    """A model that has to call a tool in every round would never answer."""
    if options.tool_choice in (None, "auto", "none"):
        return options
    return replace(options, tool_choice="auto")
