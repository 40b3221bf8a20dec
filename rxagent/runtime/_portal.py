"""The background event loop, and which loop a stream runs on."""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading

from reactivex import abc
from reactivex.scheduler.eventloop import AsyncIOScheduler

from rxagent.runtime._scheduler import LoopScheduler
from rxagent.runtime._stack import with_room

__all__ = ["Portal", "loop_for"]

_GRACE_S = 2.0

_log = logging.getLogger(__name__)


class Portal:
    """The background event loop of callers that run none: scripts, GUIs, ``run``.

    One for a process, on one daemon thread, made when it is first needed and again
    after a fork, which leaves the thread behind.
    """

    _lock = threading.Lock()
    _current: Portal | None = None

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.closing = False
        """The program ends: what runs is cancelled, and nobody is left to be told."""
        self._thread = threading.Thread(
            target=self._main, name="rxagent-portal", daemon=True
        )
        self._thread.start()
        atexit.register(self.close)

    @classmethod
    def current(cls) -> Portal:
        """The process's portal."""
        with cls._lock:
            if cls._current is None or not cls._current.is_alive:
                cls._current = cls()
            return cls._current

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> Portal | None:
        """The portal, if ``loop`` is its loop."""
        portal = cls._current
        return portal if portal is not None and portal.loop is loop else None

    @classmethod
    def after_fork(cls) -> None:
        """Forget, in the child, that another thread may have held the lock."""
        cls._lock = threading.Lock()

    @property
    def is_alive(self) -> bool:
        """False once closed, and in a forked child."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Cancel what runs, close the loop and end the thread.

        Waits two seconds at most: a callback may block the loop for good, and a daemon
        thread ends with the program anyway.
        """
        if self.is_alive:
            self.closing = True
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(_GRACE_S)
            if self.is_alive:
                _log.warning(
                    "streams were left open at exit: "
                    "a callback blocks the loop of the portal"
                )

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self.closing:
            try:
                with_room(self.loop.run_forever)
            except SystemExit as exit_:
                # Not the main thread, so it ends no program, and must end no stream.
                self.loop.call_exception_handler(
                    {"message": "a callback tried to exit", "exception": exit_}
                )
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        finish = self.loop.run_until_complete
        finish(asyncio.gather(*tasks, return_exceptions=True))
        finish(self.loop.shutdown_asyncgens())
        finish(self.loop.shutdown_default_executor())
        self.loop.close()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=Portal.after_fork)


def loop_for(scheduler: abc.SchedulerBase | None) -> asyncio.AbstractEventLoop:
    """Choose the loop of a source.

    Args:
        scheduler: What the subscription passed on.

    Returns:
        The loop of a loop scheduler; else, if no scheduler was given, the running loop;
        else the portal's, because whoever gave another scheduler may block the running
        loop (RxPY's own ``run`` does).
    """
    if isinstance(scheduler, LoopScheduler):
        return scheduler.loop
    if isinstance(scheduler, AsyncIOScheduler):
        return scheduler._loop  # noqa: SLF001 - it shows its loop in no other way
    if scheduler is None:
        try:
            return asyncio.get_running_loop()
        except RuntimeError:
            pass
    return Portal.current().loop
