from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import SingleAssignmentDisposable
from reactivex.scheduler.eventloop import AsyncIOScheduler

from rxagent.errors import NoItemsError, StreamError
from rxagent.runtime._iterate import check_maxsize
from rxagent.runtime._loop import call_on, closed_error, exit_error, on_loop
from rxagent.runtime._portal import Portal, loop_for
from rxagent.runtime._scheduler import Demand, LoopScheduler
from rxagent.runtime._waiting import interruptible

__all__ = ["block", "run"]

T = TypeVar("T")


class _End:
    """The last thing in a queue: the stream has ended, well or with ``failure``."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure


def block(
    source: Observable[T],
    *,
    maxsize: int = 256,
    scheduler: abc.SchedulerBase | None = None,
) -> Generator[T]:
    """Iterate a stream on a thread that may block, fed by the portal's loop.

    Leaving early, by ``break`` or Ctrl-C, disposes the stream.

    Args:
        source: Subscribed at the first step, on the loop.
        maxsize: Items that may wait before the source is paused, down to the socket.
            Nothing is lost: what a source that cannot pause emits waits, too.
        scheduler: Where the stream runs, if not on the portal's loop.

    Returns:
        A generator of the items.  A step raises the error of the stream, and
        `StreamError` on the very loop that the stream runs on, which must not wait for
        itself.

    Raises:
        ConfigurationError: At the call, if ``maxsize`` is no number of items.
    """
    check_maxsize(maxsize)
    return _block(source, maxsize, scheduler)


def _block(
    source: Observable[T], maxsize: int, scheduler: abc.SchedulerBase | None
) -> Generator[T]:
    loop = _loop_to_wait_for(scheduler)
    demand = Demand(loop)
    resume_at = maxsize // 2
    items: SimpleQueue[T | _End] = SimpleQueue()

    def push(item: T) -> None:
        items.put(item)
        if items.qsize() >= maxsize:
            demand.pause()
            # The reader may have emptied it just before it could see the pause.
            if items.qsize() <= resume_at:
                demand.resume()

    def end(failure: Exception | None = None) -> None:
        items.put(_End(failure))

    with _subscribed(source, push, end, loop, scheduler, demand):
        take = interruptible(items.get)
        while not isinstance(item := take(), _End):
            if demand.paused and items.qsize() <= resume_at:
                demand.resume()
            yield item
        if item.failure is not None:
            raise item.failure


def run(source: Observable[T], *, scheduler: abc.SchedulerBase | None = None) -> T:
    """Wait for a stream to complete and return its last item.

    Never on the caller's loop, so that it works in a notebook too.  Ctrl-C disposes the
    stream.

    Args:
        source: Subscribed once, on the loop.
        scheduler: Where the stream runs, if not on the portal's loop.

    Returns:
        The last item.

    Raises:
        NoItemsError: If there was none.
        StreamError: On the very loop that the stream runs on, which must not wait for
            itself.
    """
    loop = _loop_to_wait_for(scheduler)
    last: list[T] = []
    failures: list[Exception] = []
    ended = threading.Event()

    def keep(item: T) -> None:
        last[:] = (item,)

    def end(failure: Exception | None = None) -> None:
        if failure is not None:
            failures.append(failure)
        ended.set()

    with _subscribed(source, keep, end, loop, scheduler):
        interruptible(ended.wait)()
    if failures:
        raise failures[0]
    if not last:
        raise NoItemsError("the stream completed without an item")
    return last[0]


def _loop_to_wait_for(
    scheduler: abc.SchedulerBase | None,
) -> asyncio.AbstractEventLoop:
    loop = Portal.current().loop if scheduler is None else loop_for(scheduler)
    if on_loop(loop):
        raise StreamError(
            "a stream was read by blocking the loop that feeds it; "
            "return the observable instead, or iterate it with `async for`"
        )
    return loop


@contextmanager
def _subscribed(
    source: Observable[T],
    on_next: Callable[[T], None],
    end: Callable[..., None],
    loop: asyncio.AbstractEventLoop,
    scheduler: abc.SchedulerBase | None,
    demand: Demand | None = None,
) -> Generator[None]:
    """Subscribe on the thread of ``loop``, from another one, and dispose there.

    RxPY's operators do not expect that a source emits on one thread while another one
    still subscribes: its ``concat`` then loses a source now and then, and hangs.

    A scheduler that has no loop knows its own thread, so it is left alone.
    """
    subscription = SingleAssignmentDisposable()
    has_ended = False

    def ended(failure: Exception | None = None) -> None:
        nonlocal has_ended
        has_ended = True
        end(failure)

    def fail(error: BaseException) -> None:
        end(exit_error(error) if isinstance(error, SystemExit) else error)

    if scheduler is None or isinstance(scheduler, LoopScheduler):
        scheduler = LoopScheduler(loop, demand, on_raise=fail)

    def subscribe() -> None:
        subscription.disposable = source.subscribe(
            on_next, ended, ended, scheduler=scheduler
        )

    def subscribe_on_loop() -> None:
        try:
            subscribe()
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            fail(error)

    if not isinstance(scheduler, LoopScheduler | AsyncIOScheduler):
        try:
            subscribe()
            yield
        finally:
            subscription.dispose()
        return
    try:
        if not call_on(loop, subscribe_on_loop):
            raise closed_error()
        yield
    finally:
        if not has_ended:  # else it has disposed itself, and the loop may sleep on
            call_on(loop, subscription.dispose)
