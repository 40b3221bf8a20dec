from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from reactivex import Observable

from rxagent.runtime._source import Sink, from_producer

__all__ = ["from_thread"]

T = TypeVar("T")


def from_thread(function: Callable[[], T], *, pool: Executor) -> Observable[T]:
    """Emit what a function that blocks returns, once for each subscription.

    ::

        [ from_thread(function, pool=pool) ]   function takes a while, and returns a
        --(a|)

    Args:
        function: Runs in ``pool``.
        pool: Of threads; stays the caller's to shut down.

    Returns:
        A cold observable; see `from_producer`.  Disposing takes the function off the
        queue of the pool if it has not begun; else it runs to its end, and nobody is
        told how it ended.
    """

    async def produce(sink: Sink[T]) -> None:
        sink.emit(await asyncio.wrap_future(pool.submit(function)))

    return from_producer(produce)
