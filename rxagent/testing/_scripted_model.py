from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SerialDisposable

from rxagent.errors import ConfigurationError
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from rxagent.messages import AssistantMessage, Reasoning, Text, ToolCall
from rxagent.operators import concat_each
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse, FinishReason
from rxagent.runtime import LoopScheduler, loop_for
from rxagent.usage import Usage

__all__ = ["Reply", "ScriptedModel", "Step", "tool_call"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of a `ScriptedModel`.

    Args:
        deltas: The text, piece by piece.
        reasoning: The thoughts, piece by piece; they come before the text.
        calls: Tool calls; they come after the text.  An empty id is filled in.
        finish_reason: Default: ``"tool_calls"`` if there are calls, else ``"stop"``.
        usage: What the answer cost.
        error: Ends the stream in place of the answer, after the deltas.
        first_s: Seconds before the first event, on the subscription's scheduler.
        gap_s: Seconds between two events.
    """

    deltas: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason | None = None
    usage: Usage = field(default_factory=lambda: Usage(requests=1, sure=False))
    error: Exception | None = None
    first_s: float = 0.0
    gap_s: float = 0.0


Step: TypeAlias = str | Reply | Exception | Callable[[ChatRequest], "Step"]
"""A text, a reply, an error, or a function of the request that returns one of them."""


def tool_call(name: str, /, **arguments: object) -> ToolCall:
    """Write a call for a script: ``tool_call("weather", city="Oslo")``.

    Args:
        name: Of the tool.
        arguments: What the model writes, as JSON.

    Returns:
        A call without an id; the scripted model makes one.
    """
    return ToolCall(id="", name=name, arguments=json.dumps(arguments))


class ScriptedModel:
    """A model that answers from a script, for tests: no network, no clock of its own.

    ::

        --q-----------|
        [ ScriptedModel("ab") ]
        --(t,F,|)                         t = TextDelta("ab")

    Answers without delays come while subscribing; delays run on the scheduler of the
    subscription, so a ``TestScheduler`` sees them in virtual time.

    Args:
        steps: One for each request, in order; see `Step`.
        repeat_last: Answer every further request by the last step, too.
    """

    def __init__(self, *steps: Step, repeat_last: bool = False) -> None:
        self.requests: list[ChatRequest] = []
        """Every request, in the order of subscription."""
        self._steps = steps
        self._repeat_last = repeat_last
        self._lock = threading.Lock()

    def __call__(self, requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        """Answer each request by the next step."""
        return concat_each(self._answer)(requests)

    def assert_used_up(self) -> None:
        """Fail if the script has steps that no request asked for."""
        left = len(self._steps) - len(self.requests)
        assert left <= 0, (
            f"{left} of {len(self._steps)} steps of the script were not used"
        )

    def __repr__(self) -> str:
        return f"ScriptedModel(steps={len(self._steps)})"

    def _answer(self, request: ChatRequest) -> Observable[ChatEvent]:
        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            number, step = self._take(request)
            while callable(step):
                step = step(request)
            reply = _reply(step)
            events = _events(reply, request, number)
            return _play(observer, scheduler, events, reply)

        return Observable(subscribe)

    def _take(self, request: ChatRequest) -> tuple[int, Step]:
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        if number < len(self._steps):
            return number, self._steps[number]
        if self._repeat_last and self._steps:
            return number, self._steps[-1]
        raise AssertionError(
            f"the script has {len(self._steps)} steps, but request {number + 1} came; "
            "add a step, or pass repeat_last=True"
        )


def _reply(step: str | Reply | Exception) -> Reply:
    match step:
        case str():
            return Reply(deltas=(step,) if step else ())
        case Reply():
            return step
        case Exception():
            return Reply(error=step)
        case _:
            raise ConfigurationError(
                f"{step!r} is no step of a script; pass a text, a Reply, an exception "
                "or a function of the request, and one argument for each step"
            )


def _events(reply: Reply, request: ChatRequest, number: int) -> Iterator[ChatEvent]:
    origin = request.origin
    calls = tuple(
        call if call.id else replace(call, id=f"call_{number}_{index}")
        for index, call in enumerate(reply.calls)
    )
    for text in reply.reasoning:
        yield ReasoningDelta(text=text, origin=origin)
    for text in reply.deltas:
        yield TextDelta(text=text, origin=origin)
    for index, call in enumerate(calls):
        yield ToolCallDelta(
            index=index,
            id=call.id,
            name=call.name,
            arguments=call.arguments,
            origin=origin,
        )
    if reply.error is not None:
        return
    thought, said = "".join(reply.reasoning), "".join(reply.deltas)
    message = AssistantMessage(
        content=(
            *((Reasoning(text=thought),) if thought else ()),
            *((Text(text=said),) if said else ()),
            *calls,
        )
    )
    reason = reply.finish_reason or ("tool_calls" if calls else "stop")
    response = ChatResponse(
        message=message,
        finish_reason=reason,
        finish_reason_raw=reason,
        usage=reply.usage,
        model="scripted",
        context=request.context,
        transcript=(message,),
    )
    yield Finished(response=response, origin=origin)


def _play(
    observer: abc.ObserverBase[ChatEvent],
    scheduler: abc.SchedulerBase | None,
    events: Iterator[ChatEvent],
    reply: Reply,
) -> abc.DisposableBase:
    timer = SerialDisposable()
    stopped = Disposable()

    def end() -> None:
        if reply.error is not None:
            observer.on_error(reply.error)
        else:
            observer.on_completed()

    def emit(*_: object) -> None:
        while not stopped.is_disposed:
            event = next(events, None)
            if event is None:
                end()
                return
            observer.on_next(event)
            # The end comes with the last event, not a gap later.
            if reply.gap_s > 0 and not isinstance(event, Finished):
                wait(reply.gap_s)
                return

    def wait(seconds: float) -> None:
        clock = scheduler or LoopScheduler(loop_for(None))
        timer.disposable = clock.schedule_relative(seconds, emit)

    if reply.first_s > 0:
        wait(reply.first_s)
    else:
        emit()
    return CompositeDisposable(timer, stopped)
