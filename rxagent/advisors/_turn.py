"""What one turn of the tool loop has come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from rxagent.advisors._call_limits import LimitWatch
from rxagent.advisors._hand_over import InnerMemory
from rxagent.context import Context
from rxagent.errors import FailureKind, SnapshotError
from rxagent.events import (
    ChatEvent,
    Finished,
    RoundFinished,
    TextDelta,
    ToolFinished,
)
from rxagent.messages import AssistantMessage, Message, ToolCall, ToolMessage
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.responses import ChatResponse, Limit
from rxagent.snapshots import PauseReason, Snapshot
from rxagent.tools import tool_index
from rxagent.tools.state import folded
from rxagent.tools.tool import is_tool
from rxagent.usage import Usage
from rxagent.wire.json_text import is_json

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
        self._eligible = eligible
        self._transcript: tuple[Message, ...] = ()
        self._results: dict[int, ToolFinished] = {}  # by the place of the call
        self._places: dict[int, int] = {}  # by the identity of a call
        self._state: frozenset[str] = frozenset()  # names that tools wrote

    @classmethod
    def resumed(
        cls,
        snapshot: Snapshot,
        request: ChatRequest,
        watch: LimitWatch,
        eligible: Eligible | None,
    ) -> Turn:
        """A turn that goes on from where ``snapshot`` has left it.

        Args:
            snapshot: Where it has paused.
            request: With the tools, options and context that it goes on with.
            watch: Counts the calls.
            eligible: Whether the calls of a response run.
        """
        request = replace(
            request,
            messages=snapshot.messages,
            options=snapshot.options.merged(request.options),
            context=request.context | snapshot.state,
            origin=snapshot.origin,
        )
        turn = cls(request, watch, eligible)
        response = ChatResponse(
            message=snapshot.message,
            finish_reason="tool_calls",
            model=snapshot.model,
            id=snapshot.response_id,
            context=request.context,
            transcript=(snapshot.message,),
            offered=request.tools,
        )
        turn.usage = snapshot.usage
        turn.rounds = snapshot.origin.round
        turn._transcript = snapshot.transcript
        turn._state = frozenset(snapshot.state)
        turn._begin_round(response)
        by_id = {call.id: call for call in response.tool_calls}
        for message in snapshot.results:
            call = by_id[message.tool_call_id]
            failure: FailureKind | None = "semantic" if message.is_error else None
            if call.id in snapshot.pending:
                failure = "environment"
            turn.remember(ToolFinished(call=call, message=message, failure=failure))
        return turn

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Of this round, in order."""
        return self.response.tool_calls

    @property
    def open_calls(self) -> list[ToolCall]:
        """Of this round, those without a result."""
        return [c for c in self.calls if self._places[id(c)] not in self._results]

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
        self.usage += response.usage
        self.watch.charge(response)
        self._transcript += response.transcript or (response.message,)
        context = self.request.context | response.context
        if self._calls_tools(response, context):
            self.request = replace(self.request, context=context)
            self._begin_round(response)
            return RoundFinished(response=response, origin=event.origin)
        self.is_over = True
        return replace(event, response=self.whole(response))

    def edited(self, call: ToolCall, arguments: str) -> ToolCall:
        """The call with other arguments; what it comes to is the result of ``call``."""
        other = replace(call, arguments=arguments)
        self._places[id(other)] = self._places[id(call)]
        self._edited.append(other)  # alive, so that no other object gets its identity
        return other

    def remember(self, event: ChatEvent) -> None:
        """Take the result of a call."""
        if isinstance(event, ToolFinished):
            self._results[self._places[id(event.call)]] = event
            if isinstance(event.value, ChatResponse):  # of an agent that is a tool
                self.usage += event.value.usage
                self.watch.charge(event.value)

    def forget(self, call: ToolCall) -> None:
        """Drop the result of a call: it runs again."""
        del self._results[self._places[id(call)]]

    def accept(self, call: ToolCall) -> None:
        """Leave it to the model that a call failed because of its environment."""
        place = self._places[id(call)]
        self._results[place] = replace(self._results[place], failure="semantic")

    def fold_state(self) -> None:
        """Fold what the tools of this round wrote into the context."""
        writes = [
            (done.call, write) for done in self._in_order() for write in done.writes
        ]
        if writes:
            context = folded(self.request.context, writes)
            self._state |= {write.key.name for _, write in writes}
            self.request = replace(self.request, context=context)

    def next_round(self) -> None:
        """Go on to the next request."""
        response, results = self.response, self._results_in_order()
        said = response.transcript or (response.message,)
        self._transcript += results
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
        done = self._in_order()
        specs = [self.tools.get(each.call.name) for each in done]
        direct = all(is_tool(spec) and spec.rules.return_direct for spec in specs)
        if not direct or any(each.failure or not each.attempts for each in done):
            return None
        self._transcript += self._results_in_order()
        text = "\n".join(each.message.text for each in done)
        response = replace(
            self.response,
            message=AssistantMessage.of(text),
            finish_reason="return_direct",
        )
        said = TextDelta(text=text, origin=self.request.origin)
        return said, self._end(response)

    def limited(self, limit: Limit) -> Finished:
        """The end of the turn at a limit, with the results that there are."""
        self._transcript += self._results_in_order()
        return self._end(
            replace(self.response, finish_reason="tool_limit", limit=limit)
        )

    def paused(self, reason: PauseReason, pending: list[ToolCall]) -> Finished:
        """The end of the stream, not of the turn: it goes on from a snapshot.

        Raises:
            SnapshotError: If what the tools wrote cannot be saved.
        """
        said = self.response.transcript or (self.response.message,)
        snapshot = Snapshot(
            reason=reason,
            pending=tuple(call.id for call in pending),
            messages=(*self.request.messages, *said[:-1]),
            message=self.response.message,
            results=tuple(done.message for done in self._in_order()),
            transcript=self._transcript,
            usage=self.usage,
            response_id=self.response.id,
            model=self.response.model,
            origin=self.request.origin,
            state={name: self._plain(name) for name in sorted(self._state)},
            called=dict(self.watch.called),
            repeated=self.watch.repeated,
            cost=self.watch.cost,
            options=self.request.options,
        )
        return self._end(
            replace(self.response, finish_reason="paused", snapshot=snapshot)
        )

    def whole(self, response: ChatResponse) -> ChatResponse:
        """The response with what the whole turn came to."""
        return replace(
            response,
            usage=self.usage,
            transcript=self._transcript,
            context=self.request.context | response.context,
        )

    def _calls_tools(self, response: ChatResponse, context: Context) -> bool:
        if not response.tool_calls or response.blocked_by is not None:
            return False
        return self._eligible is None or self._eligible(response, context)

    def _begin_round(self, response: ChatResponse) -> None:
        self.response = response
        offered = response.offered
        self.tools = tool_index(self.request.tools if offered is None else offered)
        self._results = {}
        self._places = {id(call): n for n, call in enumerate(response.tool_calls)}
        self._edited: list[ToolCall] = []

    def _in_order(self) -> list[ToolFinished]:
        # Tools finish in any order; the history has the order of the calls.
        return [self._results[place] for place in sorted(self._results)]

    def _results_in_order(self) -> tuple[ToolMessage, ...]:
        return tuple(done.message for done in self._in_order())

    def _end(self, response: ChatResponse) -> Finished:
        self.is_over = True
        self.response = self.whole(response)
        return Finished(response=self.response, origin=self.request.origin)

    def _plain(self, name: str) -> object:
        value = self.request.context[name]
        if not is_json(value):
            raise SnapshotError(
                f"the turn cannot pause: {name!r} holds a {type(value).__name__}, and "
                "a snapshot takes JSON values alone; let tools write such values"
            )
        return value


def _free_to_answer(options: ChatOptions) -> ChatOptions:
    """A model that has to call a tool in every round would never answer."""
    if options.tool_choice in (None, "auto", "none"):
        return options
    return replace(options, tool_choice="auto")
