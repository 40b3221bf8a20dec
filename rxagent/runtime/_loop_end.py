"""Hearing of the end of an event loop."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from functools import partial

from reactivex import abc

from rxagent.runtime._loop import call_on
from rxagent.runtime._portal import Portal

__all__ = ["LoopEnd"]

_DAY_S = 86_400.0  # some loops take no longer timers


class LoopEnd(abc.DisposableBase):
    """Tells once that a loop is closed, unless it is disposed before.

    A loop tells nobody that it is closed: not those whose callbacks wait in it, and
    ``asyncio.run`` cancels tasks only.  But it drops its timers then, and nobody else
    holds them.  So there is a timer here that does nothing, and whose loss is the news.

    Args:
        loop: That of the portal tells nothing: it ends with the program, and nobody is
            left to be told.
        tell: Called in the thread that closes the loop, when nothing runs on it any
            more; soon, if it is closed already.  A loop that was dropped and not closed
            is closed by the collector, in whatever thread that runs, so it must not
            wait for a lock.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, tell: Callable[[], object]
    ) -> None:
        self._loop = loop
        self._tell: Callable[[], object] | None = tell
        self._timer: weakref.ref[asyncio.TimerHandle] | None = None
        if Portal.of(loop) is not None:
            return
        # Nothing that waits in a closed loop is lost unheard, except what came in while
        # it closed.
        if not call_on(loop, partial(self._wait, _Mark(self._end))) or loop.is_closed():
            self._end()

    def dispose(self) -> None:
        """Tell nothing."""
        self._tell = None
        if self._timer is not None:
            call_on(self._loop, self._stop)

    def _wait(self, mark: _Mark) -> None:
        if self._tell is not None:
            timer = self._loop.call_later(_DAY_S, self._wait, mark)
            self._timer = weakref.ref(timer)

    def _stop(self) -> None:
        timer = None if self._timer is None else self._timer()
        if timer is not None:
            timer.cancel()

    def _end(self) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()


class _Mark:
    """Something that only a loop holds."""

    __slots__ = ("_lost",)

    def __init__(self, lost: Callable[[], object]) -> None:
        self._lost = lost

    def __del__(self) -> None:
        self._lost()
