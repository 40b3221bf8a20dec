"""Which event loop a stream runs on."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Callable
from typing import TypeVar

from reactivex import abc, typing
from reactivex.disposable import Disposable, SingleAssignmentDisposable
from reactivex.scheduler.eventloop import AsyncIOScheduler
from reactivex.scheduler.periodicscheduler import PeriodicScheduler

__all__ = ["Demand", "LoopScheduler", "Portal", "call_on", "loop_for", "on_loop"]

S = TypeVar("S")


def on_loop(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether the caller runs on ``loop``."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def call_on(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    """Call ``function`` now if on ``loop``, else soon; never wait.

    A closed loop has ended whatever ran on it, so there is nothing left to call.
    """
    if on_loop(loop):
        function()
    elif not loop.is_closed():
        try:
            loop.call_soon_threadsafe(function)
        except RuntimeError:
            if not loop.is_closed():  # it was closed between the two
                raise


class Demand:
    """A switch with which a reader pauses the sources that it reads.

    It travels with the scheduler of the subscription, since every operator hands that
    to its source.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._resumed: asyncio.Event | None = None  # None: was never paused
        self.paused = False

    def pause(self) -> None:
        """Ask the sources to wait.  On the loop only."""
        if self._resumed is None:
            self._resumed = asyncio.Event()
        self._resumed.clear()
        self.paused = True

    def resume(self) -> None:
        """Let the sources go on.  From any thread."""
        self.paused = False
        if self._resumed is not None:
            call_on(self._loop, self._resumed.set)

    async def resumed(self) -> None:
        """Wait while paused."""
        if self._resumed is not None:
            await self._resumed.wait()


class LoopScheduler(PeriodicScheduler):
    """Schedule on one event loop, from any thread; disposing never waits.

    RxPY's ``AsyncIOThreadSafeScheduler`` blocks in ``dispose`` and can deadlock two
    loops; ``AsyncIOScheduler`` does not wake the loop from another thread.

    Args:
        loop: Where actions run.
        demand: The reader's switch, if it can pause its sources.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, demand: Demand | None = None
    ) -> None:
        super().__init__()
        self.loop = loop
        self.demand = demand

    def schedule(
        self, action: typing.ScheduledAction[S], state: S | None = None
    ) -> abc.DisposableBase:
        """Run ``action`` in a later turn of the loop."""
        return self.schedule_relative(0.0, action, state)

    def schedule_relative(
        self,
        duetime: typing.RelativeTime,
        action: typing.ScheduledAction[S],
        state: S | None = None,
    ) -> abc.DisposableBase:
        """Run ``action`` after ``duetime``, in seconds or as a ``timedelta``."""
        delay_s = self.to_seconds(duetime)
        inner = SingleAssignmentDisposable()
        timer: asyncio.Handle | None = None

        def fire() -> None:
            if not inner.is_disposed:
                inner.disposable = self.invoke_action(action, state=state)

        def start() -> None:
            nonlocal timer
            if not inner.is_disposed:
                timer = self.loop.call_later(delay_s, fire)

        def stop() -> None:
            if timer is not None:
                timer.cancel()

        def dispose() -> None:
            inner.dispose()
            if delay_s > 0:
                call_on(self.loop, stop)

        if delay_s > 0:
            call_on(self.loop, start)
        elif on_loop(self.loop):
            self.loop.call_soon(fire)
        else:
            self.loop.call_soon_threadsafe(fire)
        return Disposable(dispose)

    def schedule_absolute(
        self,
        duetime: typing.AbsoluteTime,
        action: typing.ScheduledAction[S],
        state: S | None = None,
    ) -> abc.DisposableBase:
        """Run ``action`` at ``duetime``."""
        delay = self.to_datetime(duetime) - self.now
        return self.schedule_relative(delay, action, state)


class Portal:
    """The background event loop of callers that run none: scripts, GUIs, ``run``.

    One for a process, on one daemon thread, made when it is first needed and again
    after a fork, which leaves the thread behind.
    """

    _lock = threading.Lock()
    _current: Portal | None = None

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
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

    @property
    def is_alive(self) -> bool:
        """False once closed, and in a forked child."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Cancel what runs, close the loop and end the thread."""
        if self.is_alive:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()

    def _main(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        finish = self.loop.run_until_complete
        finish(asyncio.gather(*tasks, return_exceptions=True))
        finish(self.loop.shutdown_asyncgens())
        finish(self.loop.shutdown_default_executor())
        self.loop.close()


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
