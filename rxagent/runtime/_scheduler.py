"""RxPY's scheduler over an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from reactivex import abc, typing
from reactivex.disposable import Disposable, SingleAssignmentDisposable
from reactivex.scheduler.periodicscheduler import PeriodicScheduler

from rxagent.runtime._loop import call_on, closed_error, on_loop

__all__ = ["Demand", "LoopScheduler"]

S = TypeVar("S")


class Demand:
    """A switch with which a reader pauses the sources that it reads.

    It travels with the scheduler of the subscription, since every operator hands that
    to its source.

    Args:
        loop: Where the sources run.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._resumed = asyncio.Event()
        self._resumed.set()
        self.paused = False

    def pause(self) -> None:
        """Ask the sources to wait.  From any thread."""
        self._resumed.clear()
        self.paused = True

    def resume(self) -> None:
        """Let the sources go on.  From any thread."""
        # In this order: a pause in between is undone, and the next item pauses again.
        # The other order could leave a source waiting that nobody resumes.
        self.paused = False
        call_on(self._loop, self._resumed.set)

    async def resumed(self) -> None:
        """Wait while paused."""
        await self._resumed.wait()


class LoopScheduler(PeriodicScheduler):
    """Schedule on one event loop, from any thread; disposing never waits.

    RxPY's ``AsyncIOThreadSafeScheduler`` blocks in ``dispose`` and can deadlock two
    loops; ``AsyncIOScheduler`` does not wake the loop from another thread.

    Args:
        loop: Where actions run.
        demand: The reader's switch, if it can pause its sources.
        on_raise: Told what an action raised, in place of the loop, which would log it
            and let whoever waits for the stream wait on.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        demand: Demand | None = None,
        on_raise: Callable[[BaseException], object] | None = None,
    ) -> None:
        super().__init__()
        self.loop = loop
        self.demand = demand
        self._on_raise = on_raise
        self._made = datetime.now(UTC)
        self._made_s = loop.time()

    @property
    def now(self) -> datetime:
        """The time of day, which goes on as the loop's clock does.

        So it is in step with the loop's timers, also when somebody sets the clock of
        the machine.
        """
        return self._made + timedelta(seconds=self.loop.time() - self._made_s)

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
            if inner.is_disposed:
                return
            try:
                inner.disposable = self.invoke_action(action, state=state)
            except BaseException as error:
                if self._on_raise is None:
                    raise
                self._on_raise(error)

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
            if not call_on(self.loop, start):
                raise closed_error()
        elif on_loop(self.loop):
            self.loop.call_soon(fire)
        elif not call_on(self.loop, fire):
            raise closed_error()
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
