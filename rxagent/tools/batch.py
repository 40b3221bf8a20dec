"""Answering the calls of a round."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Mapping, Sequence

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, SingleAssignmentDisposable
from reactivex.scheduler import CurrentThreadScheduler

from rxagent.context import Context
from rxagent.messages import ToolCall
from rxagent.requests import Origin, ToolSpec
from rxagent.tools.call import run_call
from rxagent.tools.report import ToolEvent

__all__ = ["run_batch"]


def run_batch(
    calls: Sequence[ToolCall],
    tools: Mapping[str, ToolSpec],
    *,
    context: Context,
    origin: Origin,
    max_concurrency: int = 8,
    max_result_chars: int | None = None,
) -> Observable[ToolEvent]:
    """Answer calls concurrently; for those too who drive a loop of their own.

    ::

        [ run_batch([a, b, c], tools, max_concurrency=2) ]
        (a,b)-(B,c)-A(C,|)               a, b, c start; A, B, C finish

    Each call is answered as by `run_call`; calls start in their order, and events come
    as they happen.  A result belongs to the call that its event carries: put the
    messages in the order of the calls before they enter a history.

    Args:
        calls: Of one round.
        tools: What may run, by name; see `tool_index`.
        context: Every call sees this one.
        origin: The run and the round, put on every event.
        max_concurrency: Calls that may run at the same time.
        max_result_chars: Longest result for the model, in characters.

    Returns:
        A cold observable of exactly one `ToolFinished` for each call; without calls, of
        nothing.  The first error ends it, cancels the other calls and starts no more;
        disposing does the same.

    Raises:
        ValueError: At the call, if ``max_concurrency`` is less than 1, or
            ``max_result_chars`` less than 100.
    """
    if max_concurrency < 1:
        raise ValueError(f"max_concurrency must be at least 1, got {max_concurrency}")
    answers = [
        run_call(
            call,
            tools,
            context=context,
            origin=origin,
            max_result_chars=max_result_chars,
        )
        for call in calls
    ]
    return answers[0] if len(answers) == 1 else _merged(answers, max_concurrency)


def _merged(
    sources: Sequence[Observable[ToolEvent]], max_concurrency: int
) -> Observable[ToolEvent]:
    # Not stock `merge`: it starts a queued source in the context variables of the one
    # that just ended, and starts sources for a subscriber that has left already.
    def subscribe(
        observer: abc.ObserverBase[ToolEvent],
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        # Events one at a time: an observable of a tool may emit on any thread.
        gate = threading.RLock()
        context = contextvars.copy_context()
        waiting = deque(sources)
        running = CompositeDisposable()
        active = 0
        starting = False

        def on_next(event: ToolEvent) -> None:
            with gate:
                observer.on_next(event)

        def on_error(error: Exception) -> None:
            with gate:
                waiting.clear()
                observer.on_error(error)

        def start_more() -> None:
            nonlocal starting
            with gate:
                if starting:
                    return
                starting = True
            _later(start_next)

        def start_next(_: abc.SchedulerBase, __: object = None) -> None:
            nonlocal active, starting
            with gate:
                free = active < max_concurrency and not running.is_disposed
                if not (free and waiting):
                    starting = False
                    return
                source = waiting.popleft()
                active += 1
            slot = SingleAssignmentDisposable()
            running.add(slot)

            def on_completed() -> None:
                nonlocal active
                running.remove(slot)
                with gate:
                    active -= 1
                    if not (active or waiting):
                        observer.on_completed()
                        return
                start_more()

            def start() -> abc.DisposableBase:
                return source.subscribe(
                    on_next, on_error, on_completed, scheduler=scheduler
                )

            slot.disposable = context.copy().run(start)
            _later(start_next)

        if sources:
            start_more()
        else:
            observer.on_completed()
        return running

    return Observable(subscribe)


def _later(action: abc.ScheduledAction[object]) -> None:
    """Run ``action`` on the trampoline of this thread, as `reactivex.of` does it.

    So calls that end while they are subscribed cost no stack, and who disposes comes in
    between; the action of `run_tool` that starts a tool was there before.
    """
    CurrentThreadScheduler.singleton().schedule(action)
