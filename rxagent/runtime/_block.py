from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import SingleAssignmentDisposable

from rxagent.errors import NoItemsError, StreamError
from rxagent.runtime._loop import Demand, LoopScheduler, Portal, on_loop

__all__ = ["block", "run"]

T = TypeVar("T")


def block(
    source: Observable[T],
    *,
    maxsize: int = 256,
    scheduler: abc.SchedulerBase | None = None,
) -> Generator[T]:
    """Iterate a stream on a thread that may block, fed by the portal's loop.

    Leaving early, by ``break`` or Ctrl-C, disposes the stream.

    Args:
        source: Subscribed at the first step.
        maxsize: Items that may wait before the source is paused.
        scheduler: Where the stream runs, if not on the portal's loop.

    Yields:
        The items.

    Raises:
        StreamError: On the portal's own thread, which must not wait for itself.
    """
    loop = Portal.current().loop
    if on_loop(loop):
        raise StreamError(
            "a stream was read by blocking the loop that feeds it; "
            "return the observable instead, or iterate it with `async for`"
        )
    demand = Demand(loop)
    changed = threading.Condition()
    buffer: deque[T] = deque()
    ended = False
    failure: Exception | None = None
    subscription = SingleAssignmentDisposable()

    def push(item: T) -> None:
        with changed:
            buffer.append(item)
            if len(buffer) >= maxsize and on_loop(loop):
                demand.pause()
            changed.notify()

    def end(error: Exception | None = None) -> None:
        nonlocal ended, failure
        with changed:
            ended, failure = True, error
            changed.notify()

    try:
        subscription.disposable = source.subscribe(
            push, end, end, scheduler=scheduler or LoopScheduler(loop, demand)
        )
        while True:
            with changed:
                while not buffer and not ended:
                    changed.wait()
                if not buffer:
                    break
                item = buffer.popleft()
                if demand.paused and len(buffer) <= maxsize // 2:
                    demand.resume()
            yield item
        if failure is not None:
            raise failure
    finally:
        subscription.dispose()


def run(source: Observable[T], *, scheduler: abc.SchedulerBase | None = None) -> T:
    """Wait for a stream to complete and return its last item.

    Never on the caller's loop, so that it works in a notebook too.

    Args:
        source: Subscribed once.
        scheduler: Where the stream runs, if not on the portal's loop.

    Returns:
        The last item.

    Raises:
        NoItemsError: If there was none.
    """
    last: list[T] = []
    for item in block(source, scheduler=scheduler):
        last[:] = [item]
    if not last:
        raise NoItemsError("the stream completed without an item")
    return last[0]
