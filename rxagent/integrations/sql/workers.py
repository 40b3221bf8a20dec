"""Threads for drivers that block."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from rxagent.runtime import DaemonThreads

__all__ = ["Workers"]

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Workers:
    """So many threads at most, as they are in `DaemonThreads`.

    Args:
        size: How many.
    """

    def __init__(self, size: int) -> None:
        self._threads = DaemonThreads(size, name="rxagent-sql")

    async def run(self, work: Callable[[], T]) -> T:
        """Call ``work`` in a thread, and wait for what it returns or raises.

        Cancelling takes it off the queue.  What has begun goes on, and is logged if it
        fails.

        Args:
            work: Sees the context variables of the caller.
        """
        future = self._threads.submit(contextvars.copy_context().run, work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.add_done_callback(_report)
            raise


def _report(future: Future[T]) -> None:
    if not future.cancelled() and (error := future.exception()):
        # What the error itself says may show what was to be written.
        _log.warning("what nobody waits for any more failed: %s", type(error).__name__)
