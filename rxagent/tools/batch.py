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
        (S1,S2)--F2,S3--F1--(F3,|)       started and finished, by call

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
    # that just ended, and those that end while being subscribed before it can be
    # disposed.
    def subscribe(
        observer: abc.ObserverBase[ToolEvent],
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        # Events one at a time: an observable of a tool may emit on any thread.
        gate = threading.RLock()
        context = contextvars.copy_context()
        waiting = deque(sources)
        unfinished = len(sources)
        running = CompositeDisposable()

        def on_next(event: ToolEvent) -> None:
            with gate:
                observer.on_next(event)

        def on_error(error: Exception) -> None:
            with gate:
                waiting.clear()
                observer.on_error(error)

        def start_later() -> None:
            # On the trampoline of this thread, as `reactivex.of` does it: sources that
            # end while they are subscribed cost no stack, and dispose comes between.
            CurrentThreadScheduler.singleton().schedule(start_next)

        def start_next(_: abc.SchedulerBase, __: object = None) -> None:
            with gate:
                if running.is_disposed or not waiting:
                    return
                source = waiting.popleft()
            slot = SingleAssignmentDisposable()
            running.add(slot)

            def on_completed() -> None:
                nonlocal unfinished
                running.remove(slot)
                with gate:
                    unfinished -= 1
                    if not unfinished:
                        observer.on_completed()
                        return
                start_later()

            def start() -> abc.DisposableBase:
                return source.subscribe(
                    on_next, on_error, on_completed, scheduler=scheduler
                )

            slot.disposable = context.copy().run(start)

        if not sources:
            observer.on_completed()
        for _ in range(min(max_concurrency, len(sources))):
            start_later()
        return running

    return Observable(subscribe)
