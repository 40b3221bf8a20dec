"""A call, the tools it may reach, and the events that come of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reactivex import Observable

from rxagent.context import Context
from rxagent.errors import FailureKind
from rxagent.events import ToolFinished, ToolProgress, ToolStarted
from rxagent.messages import ToolCall, ToolMessage, UserPart
from rxagent.requests import Origin, ToolSpec
from rxagent.tools import (
    CallSettings,
    Executor,
    ToolEvent,
    run_batch,
    run_call,
    tool_index,
)

CONTEXT = Context({"user": "eva"})
ORIGIN = Origin(run_id="run", path=("agent",), round=2)


def calling(name: str, arguments: str = "{}", *, id: str = "1") -> ToolCall:  # noqa: A002
    return ToolCall(id=id, name=name, arguments=arguments)


def answer(
    call: ToolCall,
    *tools: ToolSpec,
    max_result_chars: int | None = None,
    settings: CallSettings | None = None,
) -> Observable[ToolEvent]:
    return run_call(
        call,
        tool_index(tools),
        context=CONTEXT,
        origin=ORIGIN,
        settings=settings or CallSettings(max_result_chars=max_result_chars),
    )


def batch_on(
    executor: Executor,
    calls: Sequence[ToolCall],
    *tools: ToolSpec,
    context: Context = CONTEXT,
    settings: CallSettings | None = None,
) -> Observable[ToolEvent]:
    return run_batch(
        calls,
        tool_index(tools),
        context=context,
        origin=ORIGIN,
        executor=executor,
        settings=settings,
    )


def ends(events: Iterable[ToolEvent]) -> list[ToolFinished]:
    """The results in the order of the calls, whose ids are their numbers."""
    found = [event for event in events if isinstance(event, ToolFinished)]
    return sorted(found, key=lambda event: int(event.call.id))


def started(call: ToolCall) -> ToolStarted:
    return ToolStarted(call=call)


def progress(call: ToolCall, value: object) -> ToolProgress:
    return ToolProgress(call=call, value=value)


def finished(
    call: ToolCall, *shown: str | UserPart, value: object, attempts: int = 1
) -> ToolFinished:
    message = ToolMessage.of(*shown, call=call)
    return ToolFinished(call=call, message=message, value=value, attempts=attempts)


def failed(
    call: ToolCall, text: str, *, kind: FailureKind = "semantic", attempts: int = 1
) -> ToolFinished:
    message = ToolMessage.of(text, call=call, is_error=True)
    return ToolFinished(call=call, message=message, failure=kind, attempts=attempts)


def refused(call: ToolCall, text: str) -> ToolFinished:
    return failed(call, text, attempts=0)
