from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Generic, TypeVar

from reactivex import Observable, abc

from rxagent.runtime._loop import closed_error
from rxagent.runtime._loop_end import LoopEnd
from rxagent.runtime._portal import loop_for
from rxagent.runtime._told import told

__all__ = ["from_thread"]

T = TypeVar("T")


def from_thread(function: Callable[[], T], *, pool: Executor) -> Observable[T]:
    """Emit what a function that blocks returns, once for each subscription.

    ::

        [ from_thread(function, pool=pool) ]   function takes a while, and returns a
        --(a|)

    Args:
        function: Runs in ``pool``, in a copy of the context variables of the
            subscriber.
        pool: Of threads; stays the caller's to shut down.

    Returns:
        A cold observable that emits on the loop of `loop_for`, in the context variables
        of the subscriber.  What the function raises is its error, and so is a pool that
        takes it no more.  Disposing, from any thread, takes the function off the queue
        of the pool if it has not begun; else it runs to its end, and nobody is told how
        it ended.  If the pool drops it, or the loop is closed first, the error is
        `StreamCancelledError`, which is silent without an ``on_error``; if the portal
        ends, nobody is told.
    """

    def subscribe(
        observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        loop = loop_for(scheduler)
        if loop.is_closed():
            raise closed_error()
        # A copy of its own: one context is entered once at a time, and the observer
        # may be told in another one, while the function runs, that the loop has ended.
        future = pool.submit(contextvars.copy_context().run, function)
        return _Call(future, observer, loop)

    return Observable(subscribe)


class _Call(abc.DisposableBase, Generic[T]):
    """One run of a function.

    There is no task, as in `from_producer`: a store is asked many times in a turn, and
    a task doubles what that costs.  But a task is told of the end of its loop, and a
    callback that waits there is not, hence the `LoopEnd`.
    """

    def __init__(
        self,
        future: Future[T],
        observer: abc.ObserverBase[T],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._future = future
        self._observer = observer
        self._loop = loop
        self._context = contextvars.copy_context()
        self._is_stopped = False
        self._loop_end = LoopEnd(loop, self._cancelled)
        future.add_done_callback(self._done)

    def dispose(self) -> None:
        """Take the function off the queue, from any thread, without waiting for it."""
        self._is_stopped = True
        self._loop_end.dispose()
        self._future.cancel()

    def _done(self, _: Future[T]) -> None:
        """On a thread of the pool, or on that of whoever has cancelled."""
        if self._is_stopped:
            return
        try:
            self._loop.call_soon_threadsafe(self._emit, context=self._context)
        except RuntimeError:
            if not self._loop.is_closed():  # else the observer knows
                raise

    def _cancelled(self) -> None:
        self._context.run(self._told, asyncio.CancelledError())

    def _emit(self) -> None:
        self._loop_end.dispose()
        if self._is_stopped:
            return
        if self._future.cancelled():
            self._told(asyncio.CancelledError())
            return
        try:
            self._observer.on_next(self._future.result())
        except BaseException as error:
            if self._told(error):
                raise
        else:
            if not self._is_stopped:
                self._observer.on_completed()

    def _told(self, error: BaseException) -> bool:
        return told(self._observer, error, loop=self._loop, is_stopped=self._is_stopped)
