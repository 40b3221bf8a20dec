"""Between a turn that pauses and its snapshot, there and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from rxagent.advisors._call_limits import LimitWatch
from rxagent.advisors._turn import Eligible, Turn
from rxagent.errors import FailureKind, SnapshotError
from rxagent.events import Finished, ToolFinished
from rxagent.messages import ToolCall
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.snapshots import PauseReason, Snapshot
from rxagent.wire.json_text import is_json


def paused(turn: Turn, reason: PauseReason, pending: Sequence[ToolCall]) -> Finished:
    """The end of the stream, not of the turn: it goes on from a snapshot.

    Args:
        turn: That cannot go on.
        reason: Why not.
        pending: Its calls that need a decision.

    Raises:
        SnapshotError: If the turn cannot be saved.
    """
    response = turn.response
    said = response.transcript or (response.message,)
    _check_ids(turn.calls)
    unfinished = {id(call) for call in (*turn.open_calls, *pending)}
    snapshot = Snapshot(
        reason=reason,
        pending=tuple(call.id for call in pending),
        messages=(*turn.request.messages, *said[:-1]),
        message=response.message,
        decided={
            call.id: turn.decided[id(call)]
            for call in turn.calls
            if id(call) in unfinished & turn.decided.keys()
        },
        results=tuple(done.message for done in turn.done()),
        transcript=turn.transcript,
        usage=turn.usage,
        response_id=response.id,
        model=response.model,
        origin=turn.request.origin,
        tools=tuple(turn.tools),
        state={name: _plain(turn, name) for name in sorted(turn.written)},
        called=dict(turn.watch.called),
        repeated=turn.watch.repeated,
        cost=turn.watch.cost,
        options=turn.request.options,
    )
    return turn.end(replace(response, finish_reason="paused", snapshot=snapshot))


def resumed(
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
    turn = Turn(request, watch, eligible)
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
    turn.transcript = snapshot.transcript
    turn.written = frozenset(snapshot.state)
    turn.begin_round(response)
    by_id = {call.id: call for call in turn.calls}
    for message in snapshot.results:
        call = by_id[message.tool_call_id]
        failure: FailureKind | None = "semantic" if message.is_error else None
        if call.id in snapshot.pending:
            failure = "environment"
        turn.remember(ToolFinished(call=call, message=message, failure=failure))
    return turn


def _check_ids(calls: Sequence[ToolCall]) -> None:
    """Decisions and results are told apart by them: the wrong call might run twice."""
    same = [
        call_id for call_id, times in Counter(c.id for c in calls).items() if times > 1
    ]
    if same:
        raise SnapshotError(
            f"the turn cannot pause: several of its calls have the id {same[0]!r}, and "
            "a decision could not say which it means; let the model make ids unique"
        )


def _plain(turn: Turn, name: str) -> object:
    value = turn.request.context[name]
    if not is_json(value):
        raise SnapshotError(
            f"the turn cannot pause: {name!r} holds a {type(value).__name__}, and "
            "a snapshot takes JSON values alone, at most 100 in one another; let tools "
            "write such values"
        )
    return value
