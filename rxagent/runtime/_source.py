"""Observables made of asyncio code."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Generic, TypeVar

from reactivex import Observable, abc

from rxagent.runtime._loop import call_on, closed_error
from rxagent.runtime._portal import loop_for
from rxagent.runtime._scheduler import Demand, LoopScheduler
from rxagent.runtime._told import told

__all__ = ["Sink", "from_async_iterable", "from_producer"]

T = TypeVar("T")

# The only module-level state of the package: a loop keeps weak references to its tasks,
# so somebody has to keep the running ones (asyncio documents it so).
_running: set[asyncio.Task[None]] = set()


class Sink(Generic[T]):
    """Where a producer puts its items.

    Args:
        emit: Takes the next item.
        demand: The reader's switch, if it has one.
    """

    __slots__ = ("_demand", "emit", "stopped")

    def __init__(self, emit: Callable[[T], None], demand: Demand | None) -> None:
        self.emit = emit
        self.stopped = False
        """Nobody listens any more: return."""
        self._demand = demand

    @property
    def paused(self) -> bool:
        """The reader is behind: await `resumed` before reading on."""
        return self._demand is not None and self._demand.paused

    async def resumed(self) -> None:
        """Wait until the reader has caught up."""
        if self._demand is not None:
            await self._demand.resumed()


def from_producer(produce: Callable[[Sink[T]], Awaitable[None]]) -> Observable[T]:
    """Run ``produce`` in a task of its own for each subscription.

    ::

        [ from_producer(produce) ]         produce emits a, waits, emits b, returns
        -a--b|

    Args:
        produce: Puts items into a `Sink`, checks ``stopped`` after each, and returns to
            complete.  It sees the context variables of the subscriber.

    Returns:
        A cold observable that emits on the loop of `loop_for`.  An exception of
        ``produce`` is its error.  Disposing, from any thread, cancels the task, so that
        ``finally`` and ``async with`` run at once.  If somebody else cancels the task,
        as ``asyncio.run`` does at its end, the error is `StreamCancelledError`, which
        is silent without an ``on_error``; if the portal ends, nobody is told.
    """

    def subscribe(
        observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        loop = loop_for(scheduler)
        demand = scheduler.demand if isinstance(scheduler, LoopScheduler) else None
        pump = _Pump(produce, observer, loop, demand)
        if not call_on(loop, pump.start):
            observer.on_error(closed_error())
        return pump

    return Observable(subscribe)


class _Pump(abc.DisposableBase, Generic[T]):
    """One run of a producer, in a task of its own, from subscription to the end."""

    def __init__(
        self,
        produce: Callable[[Sink[T]], Awaitable[None]],
        observer: abc.ObserverBase[T],
        loop: asyncio.AbstractEventLoop,
        demand: Demand | None,
    ) -> None:
        self._produce = produce
        self._observer = observer
        self._loop = loop
        self._sink = Sink(observer.on_next, demand)
        self._context = contextvars.copy_context()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the task.  On the loop."""
        if not self._sink.stopped:
            task = self._loop.create_task(self._run(), context=self._context)
            self._task = task
            _running.add(task)
            task.add_done_callback(self._ended)

    def dispose(self) -> None:
        """Stop the task, from any thread, without waiting for it."""
        self._sink.stopped = True
        call_on(self._loop, self._stop)

    def _stop(self) -> None:
        # Once: a second cancellation would hit the clean-up after the first.  And not
        # from inside its own on_next, where the producer sees `stopped`: it would hit
        # whatever is awaited next, in finally too.
        task, self._task = self._task, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    async def _run(self) -> None:
        try:
            await self._produce(self._sink)
        except BaseException as error:
            if told(
                self._observer,
                error,
                loop=self._loop,
                is_stopped=self._sink.stopped,
            ):
                raise
        else:
            if not self._sink.stopped:
                self._observer.on_completed()

    def _ended(self, task: asyncio.Task[None]) -> None:
        _running.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):  # else the loop has raised it, too
            self._loop.call_exception_handler(
                {
                    "message": "a stream failed, and nobody was left to be told; "
                    "subscribe with an on_error",
                    "exception": error,
                    "task": task,
                }
            )


def from_async_iterable(factory: Callable[[], AsyncIterator[T]]) -> Observable[T]:
    """Iterate a new async iterator for each subscription.

    ::

        [ from_async_iterable(factory) ]   an async generator that yields a, then b
        -a--b|

    Args:
        factory: Makes the iterator, inside the task that iterates it.

    Returns:
        A cold observable; see `from_producer`.  The iterator is closed when it ends,
        fails or is disposed.
    """

    async def produce(sink: Sink[T]) -> None:
        items = factory()
        async with AsyncExitStack() as stack:
            if (aclose := getattr(items, "aclose", None)) is not None:
                stack.push_async_callback(aclose)
            async for item in items:
                if sink.stopped:
                    return
                sink.emit(item)
                if sink.stopped:
                    return
                if sink.paused:
                    await sink.resumed()

    return from_producer(produce)
