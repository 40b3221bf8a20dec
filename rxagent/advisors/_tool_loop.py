from __future__ import annotations

from dataclasses import replace

from reactivex import Observable
from reactivex import operators as ops

from rxagent.chain import around
from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent, Finished, RoundFinished, ToolFinished
from rxagent.messages import Message, ToolMessage
from rxagent.named import Order, named
from rxagent.operators import expand_rounds, just
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.responses import ChatResponse, Limit
from rxagent.tools import MIN_RESULT_CHARS, run_batch, tool_index
from rxagent.types import Advisor, Exchange
from rxagent.usage import Usage


def tool_loop(
    *,
    max_rounds: int = 10,
    max_concurrency: int = 8,
    max_result_chars: int | None = None,
) -> Advisor:
    """Run the tools that the model calls and ask it again, until it calls none.

    ::

        --q-------------------|
        [ tool_loop() ]                   inner answers --c-| (a call), then --b--F|;
        ----R-s--p-f-b--F-----|           the tool runs from s to f, and reports p

    It is an expand over the rest of the chain: a round is one more subscription to it,
    with the whole history of the turn.  Advisors left of it see a turn once, right of
    it every round.  A call that cannot run (unknown tool, broken arguments, a tool that
    raises) gets a result that says so, and the model goes on.

    A ``tool_choice`` that demands a call holds for the first round.

    Args:
        max_rounds: Model requests whose tools run.  Then the turn ends, its results
            kept, with ``finish_reason="tool_limit"`` and ``limit``.
        max_concurrency: Calls of a round that run at once; their results are in the
            order of the calls all the same.
        max_result_chars: A longer result is cut for the model, and says so.

    Returns:
        An advisor; an agent has at most one that runs tools.  Disposing stops the model
        or the running tools, whichever is at work, and starts nothing more.

    Raises:
        ConfigurationError: If a limit is less than 1, or ``max_result_chars`` than 100.
    """
    for option, value, least in (
        ("max_rounds", max_rounds, 1),
        ("max_concurrency", max_concurrency, 1),
        ("max_result_chars", max_result_chars, MIN_RESULT_CHARS),
    ):
        if value is not None and value < least:
            raise ConfigurationError(f"{option} must be {least} or more, got {value}")

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        turn = _Turn(request, max_rounds)

        def ask() -> Observable[ChatEvent]:
            return just(turn.request).pipe(inner, ops.map(turn.hear))

        def run(response: ChatResponse) -> Observable[ChatEvent]:
            return run_batch(
                response.tool_calls,
                tool_index(turn.request.tools),
                context=turn.request.context,
                origin=turn.request.origin,
                max_concurrency=max_concurrency,
                max_result_chars=max_result_chars,
            )

        def again(last: ChatEvent | None) -> Observable[ChatEvent] | None:
            match last:
                case RoundFinished(response=response):
                    return run(response)
                case ToolFinished():
                    limit = turn.next_round()
                    return ask() if limit is None else just(limit)
                case _:
                    return None

        return ask().pipe(expand_rounds(_nothing, turn.remember, again))

    return named(
        "tool_loop",
        around(handle),
        settings=f"max_rounds={max_rounds}",
        order=Order.TOOL_LOOP,
        owns_tools=True,
    )


class _Turn:
    """What one turn has come to; made for each request, within its subscription."""

    def __init__(self, request: ChatRequest, max_rounds: int) -> None:
        self.request = request
        self._max_rounds = max_rounds
        self._usage = Usage()
        self._transcript: tuple[Message, ...] = ()
        self._response: ChatResponse | None = None
        self._results: dict[int, ToolMessage] = {}

    def hear(self, event: ChatEvent) -> ChatEvent:
        """Take the end of a model's answer as the end of a round, or of the turn."""
        if not isinstance(event, Finished):
            return event
        response = event.response
        self._usage += response.usage
        self._transcript += response.transcript or (response.message,)
        if response.tool_calls and response.blocked_by is None:
            context = self.request.context | response.context
            self.request = replace(self.request, context=context)
            self._response, self._results = response, {}
            return RoundFinished(response=response, origin=event.origin)
        return replace(event, response=self._whole(response))

    def remember(self, _: ChatEvent | None, event: ChatEvent) -> ChatEvent:
        """Keep the results of the batch; return the last event."""
        if isinstance(event, ToolFinished):
            self._results[id(event.call)] = event.message
        return event

    def next_round(self) -> Finished | None:
        """Go on to the next request, or return how the turn ends."""
        response = self._response
        assert response is not None, "a batch follows a response"
        # Tools finish in any order; the history has the order of the calls.
        results = tuple(self._results[id(call)] for call in response.tool_calls)
        self._transcript += results
        origin = self.request.origin
        if origin.round + 1 >= self._max_rounds:
            limit = Limit(
                name="max_rounds",
                value=self._max_rounds,
                message=(
                    f"stopped after {self._max_rounds} rounds of tools without an "
                    "answer; raise max_rounds, or give the model fewer tools"
                ),
            )
            last = replace(response, finish_reason="tool_limit", limit=limit)
            return Finished(response=self._whole(last), origin=origin)
        said = response.transcript or (response.message,)
        self.request = replace(
            self.request,
            messages=(*self.request.messages, *said, *results),
            options=_free_to_answer(self.request.options),
            origin=replace(origin, round=origin.round + 1),
        )
        return None

    def _whole(self, response: ChatResponse) -> ChatResponse:
        return replace(
            response,
            usage=self._usage,
            transcript=self._transcript,
            context=self.request.context | response.context,
        )


def _free_to_answer(options: ChatOptions) -> ChatOptions:
    """A model that has to call a tool in every round would never answer."""
    if options.tool_choice in (None, "auto", "none"):
        return options
    return replace(options, tool_choice="auto")


def _nothing() -> ChatEvent | None:
    return None
