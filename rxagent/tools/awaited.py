"""Waiting, on the event loop, for what runs elsewhere."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from rxagent.errors import ToolFailedError

__all__ = ["awaited"]

T = TypeVar("T")

_log = logging.getLogger(__name__)


async def awaited(future: Future[T], tool: str) -> T:
    """Wait for ``future``, whose executor may drop it.

    Cancelling takes it off its queue.  What runs already cannot be stopped: it is
    abandoned, and that is logged, as is what it raises then.

    Args:
        future: Of a run of the tool.
        tool: Its name.

    Raises:
        ToolFailedError: If the executor drops it.
    """
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def wake(_: Future[T]) -> None:
        # In a later turn, even from here: behind all that the tool has reported.
        with suppress(RuntimeError):  # on a closed loop, where nobody waits
            loop.call_soon_threadsafe(ended.set)

    future.add_done_callback(wake)
    try:
        await ended.wait()
    except asyncio.CancelledError:
        if not (future.cancel() or future.done()):
            _abandon(future, tool)
        raise
    # Not by `wrap_future`: its CancelledError would look like ours.
    if future.cancelled():
        raise ToolFailedError(
            "the executor dropped the call before it ran", kind="environment"
        )
    return future.result()


def _abandon(future: Future[T], tool: str) -> None:
    _log.info(
        "tool %r cannot be stopped where it runs; it goes on, and nobody waits for it",
        tool,
    )

    def report(ended: Future[T]) -> None:
        if error := ended.exception():
            _log.warning("tool %r failed, abandoned", tool, exc_info=error)

    future.add_done_callback(report)
