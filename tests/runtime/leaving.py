"""The ways to leave a stream, all of which must close its connection."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

from reactivex import Observable
from reactivex import operators as ops

from rxagent.runtime import iterate

__all__ = ["WAYS"]


async def _dispose(source: Observable[Any]) -> float:
    arrived = asyncio.Event()
    subscription = source.subscribe(lambda _: arrived.set(), _unexpected)
    await arrived.wait()
    left_at = time.perf_counter()
    subscription.dispose()
    return left_at


async def _dispose_on_another_thread(source: Observable[Any]) -> float:
    arrived = asyncio.Event()
    subscription = source.subscribe(lambda _: arrived.set(), _unexpected)
    await arrived.wait()

    def dispose() -> float:
        left_at = time.perf_counter()
        subscription.dispose()
        return left_at

    return await asyncio.to_thread(dispose)


async def _take(source: Observable[Any]) -> float:
    completed = asyncio.Event()
    source.pipe(ops.take(2)).subscribe(on_error=_unexpected, on_completed=completed.set)
    await completed.wait()
    return time.perf_counter()


async def _break(source: Observable[Any]) -> float:
    async with aclosing(iterate(source)) as items:
        async for _ in items:
            break
        # Before the block ends: that is what closes it.
        return time.perf_counter()


async def _cancel_the_reader(source: Observable[Any]) -> float:
    arrived = asyncio.Event()

    async def read() -> None:
        async for _ in iterate(source):
            arrived.set()

    reader = asyncio.create_task(read())
    await arrived.wait()
    left_at = time.perf_counter()
    reader.cancel()
    await asyncio.wait([reader])
    return left_at


def _unexpected(error: Exception) -> None:
    raise AssertionError("leaving is no error") from error


WAYS: Mapping[str, Callable[[Observable[Any]], Awaitable[float]]] = {
    "dispose": _dispose,
    "dispose on another thread": _dispose_on_another_thread,
    "take(2)": _take,
    "break and aclosing": _break,
    "cancel the reader": _cancel_the_reader,
}
"""Each subscribes, waits for something, leaves, and returns when it did that."""
