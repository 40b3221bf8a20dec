"""Running plain code in worker threads, from the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import AsyncIterator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from rxagent.runtime import call_on

__all__ = ["GeneratorSteps", "in_thread"]

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Raised:
    error: Exception


async def in_thread(
    function: Callable[[], T],
    began: Callable[[], None] | None = None,
    *,
    pool: ThreadPoolExecutor | None = None,
) -> T:
    """Call ``function`` in a worker thread, with the context variables of the caller.

    Cancelling stops the waiting, not the function: no thread can be stopped.  What it
    raises then is logged.

    Args:
        function: Runs there.
        began: Called on the loop, when ``function`` begins.
        pool: Of whose threads; by default the loop's own.
    """
    loop = asyncio.get_running_loop()
    abandoned = False

    def call() -> T | _Raised:
        # Carried as a value: a future cannot hold StopIteration, and takes the
        # CancelledError of somebody else's future for its own.
        if began is not None:
            call_on(loop, began)
        try:
            return function()
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            if abandoned:
                _log.warning("a cancelled tool failed afterwards", exc_info=error)
            return _Raised(error)

    try:
        variables = contextvars.copy_context()
        outcome = await loop.run_in_executor(pool, partial(variables.run, call))
    except asyncio.CancelledError:
        abandoned = True
        raise
    if isinstance(outcome, _Raised):
        raise outcome.error
    return outcome


class GeneratorSteps(AsyncIterator[object]):
    """An async iterator over a generator; every step is a job for a worker thread.

    Args:
        generator: Closed by `aclose`, or if a step of it still runs then, after that.
    """

    def __init__(self, generator: Generator[object, None, object]) -> None:
        self.returned: object = None
        """What the generator returned."""
        self._generator = generator
        self._stepping = threading.Lock()
        self._ended = self._abandoned = False

    async def __anext__(self) -> object:
        item = await in_thread(self._step)
        if self._ended:
            raise StopAsyncIteration
        return item

    async def aclose(self) -> None:
        """Close the generator in a thread, but wait for no step that runs."""
        if not self._ended:
            self._abandoned = True
            loop, context = asyncio.get_running_loop(), contextvars.copy_context()
            closing = loop.run_in_executor(None, context.run, self._close_if_abandoned)
            # Shielded: a second cancellation must not take the job off the queue.
            await asyncio.shield(closing)

    def _step(self) -> object:
        try:
            with self._stepping:
                return next(self._generator)
        except StopIteration as stop:
            self._ended, self.returned = True, stop.value
            return None
        finally:
            self._close_if_abandoned()

    def _close_if_abandoned(self) -> None:
        # Whoever comes last closes it: a running generator refuses to be closed.
        if self._abandoned and self._stepping.acquire(blocking=False):
            try:
                self._generator.close()
            finally:
                self._stepping.release()
