"""Threads for drivers that block."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["Workers"]

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Workers:
    """So many threads at most; each ends when there is nothing to do.

    They are daemons, as those of ``concurrent.futures`` are not: a database that never
    answers does not keep the program from its end.

    Args:
        size: How many.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._busy = 0
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    async def run(self, work: Callable[[], T]) -> T:
        """Call ``work`` in a thread, and wait for what it returns or raises.

        Cancelling takes it off the queue.  What has begun goes on, and is logged if it
        fails.

        Args:
            work: Sees the context variables of the caller.
        """
        future = self._submit(contextvars.copy_context().run, work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.add_done_callback(_report)
            raise

    def _submit(
        self, run: Callable[[Callable[[], T]], T], work: Callable[[], T]
    ) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            self._waiting.append((future, lambda: run(work)))
            if self._busy < self._size:
                self._busy += 1
                threading.Thread(
                    target=self._main, name="rxagent-sql", daemon=True
                ).start()
        return future

    def _main(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy -= 1
                    return
                future, work = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                _settle(future, work)
            del future, work  # while it waits for the lock it keeps nobody's messages


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
        future.set_exception(error)
    else:
        future.set_result(result)


def _report(future: Future[T]) -> None:
    if not future.cancelled() and (error := future.exception()):
        # What the error itself says may show what was to be written.
        _log.warning("what nobody waits for any more failed: %s", type(error).__name__)
