"""A stream whose end is stored before it is told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from reactivex import Observable, abc
from reactivex.disposable import (
    CompositeDisposable,
    Disposable,
    SingleAssignmentDisposable,
)
from reactivex.scheduler import ImmediateScheduler

from rxagent.advisors._turn_record import TurnRecord
from rxagent.errors import StreamCancelledError
from rxagent.events import ChatEvent, Finished
from rxagent.messages import Message
from rxagent.requests import Failure
from rxagent.runtime import LoopScheduler, loop_for
from rxagent.types import Operator

_log = logging.getLogger("rxagent.advisors.memory")


def stored_at_end(
    record: TurnRecord,
    *,
    write: Callable[[Sequence[Message]], Observable[int]],
    told: Callable[[Finished], Finished],
    failure: Failure,
) -> Operator[ChatEvent, ChatEvent]:
    """Hold `Finished` back until the turn is stored.

    ::

        --a--b--F|
        [ stored_at_end(record, ...) ]    writing takes 2
        --a--b----F|

    Args:
        record: Says what is stored; of this turn alone.
        write: Stores messages; completes when that is done.
        told: The end as the rest may see it.
        failure: What the run has failed with outside of here: it is a broken turn then.

    Returns:
        An operator.  If writing fails, that is the error, in place of `Finished`.  An
        error of the source waits for what is stored of a broken turn, and stands; a
        failure to write that is logged.  Disposing stops the source, and stores what is
        stored of a broken turn without waiting for it; a writing that has begun goes
        on.  If either fails it is logged.
    """

    def operator(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            end = _End(write, scheduler)
            emit = observer.on_next
            finished: list[Finished] = []

            def on_next(event: ChatEvent) -> None:
                if isinstance(event, Finished):
                    finished.append(event)
                    return
                record.note(event)
                emit(event)

            def on_completed() -> None:
                if failure.error:  # nobody hears the end of a synchronous source
                    leave()
                    return

                def tell() -> None:
                    for event in finished:
                        emit(told(event))
                    observer.on_completed()

                kept = [record.ended(event.response) for event in finished]
                end.store(kept[-1] if kept else (), tell, observer.on_error)

            def on_error(error: Exception) -> None:
                def not_stored(why: Exception) -> None:
                    _log_not_stored(why)
                    observer.on_error(error)

                def stored() -> None:
                    observer.on_error(error)

                if isinstance(error, StreamCancelledError):  # the loop is ending
                    leave()
                    stored()
                else:
                    end.store(record.broken(error), stored, not_stored)

            def leave() -> None:
                kept = record.broken(failure.error)
                end.store(kept, lambda: None, _log_not_stored, outlives=True)

            upstream = SingleAssignmentDisposable()
            both = CompositeDisposable(upstream, Disposable(leave))
            upstream.disposable = source.subscribe(
                on_next, on_error, on_completed, scheduler=scheduler
            )
            return both

        return Observable(subscribe)

    return operator


class _End:
    """The one time that a turn is stored, whoever comes first with it."""

    def __init__(
        self,
        write: Callable[[Sequence[Message]], Observable[int]],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self._write = write
        self._scheduler = scheduler
        self._lock = threading.Lock()
        self._is_over = False

    def store(
        self,
        messages: Sequence[Message],
        then: Callable[[], None],
        failed: Callable[[Exception], None],
        *,
        outlives: bool = False,
    ) -> None:
        """Write ``messages``, if nothing has been written yet.

        Args:
            messages: Of the turn.
            then: Called when that is done.
            failed: Called if it cannot be done.
            outlives: Whether the loop of the stream may end before that.
        """
        with self._lock:
            was_over, self._is_over = self._is_over, True
        if was_over:
            return
        if not messages:
            then()
            return
        scheduler = _outliving(self._scheduler) if outlives else self._scheduler
        self._write(messages).subscribe(
            on_error=failed, on_completed=then, scheduler=scheduler
        )


def _outliving(scheduler: abc.SchedulerBase | None) -> abc.SchedulerBase:
    """Where a write goes on, though the loop of whoever has left may end at once."""
    if scheduler is None or isinstance(scheduler, LoopScheduler):
        return LoopScheduler(loop_for(ImmediateScheduler.singleton()))
    return scheduler


def _log_not_stored(error: Exception) -> None:
    _log.warning("a turn that broke off was not stored: %s", error, exc_info=error)
