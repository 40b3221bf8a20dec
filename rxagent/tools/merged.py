"""Several calls at once, no more than so many, without a scheduler."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Sequence

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, SingleAssignmentDisposable
from reactivex.scheduler import CurrentThreadScheduler

from rxagent.tools.report import ToolEvent

__all__ = ["merged"]


def merged(
    sources: Sequence[Observable[ToolEvent]], *, max_concurrency: int
) -> Observable[ToolEvent]:
    """Merge the events of calls; they start in order, and events come as they happen.

    Args:
        sources: Of one call each.
        max_concurrency: How many run at the same time.

    Returns:
        A cold observable.  The first error ends it, cancels the others and starts no
        more; disposing does the same.
    """

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
