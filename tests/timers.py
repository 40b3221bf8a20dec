"""Virtual time that counts."""

from __future__ import annotations

from typing import TypeVar

from reactivex import abc, typing
from reactivex.testing import TestScheduler

__all__ = ["Timers"]

S = TypeVar("S")


class Timers(TestScheduler):
    """Counts what is started, and what runs out; messages of cold sources are timers.

    That a timer was cancelled shows in its not running out: virtual time never ends
    before all have.
    """

    def __init__(self) -> None:
        super().__init__()
        self.started = 0
        self.ran_out = 0

    def schedule_relative(
        self,
        duetime: typing.RelativeTime,
        action: typing.ScheduledAction[S],
        state: S | None = None,
    ) -> abc.DisposableBase:
        self.started += 1

        def run_out(
            scheduler: abc.SchedulerBase, state: S | None = None
        ) -> abc.DisposableBase | None:
            self.ran_out += 1
            return action(scheduler, state)

        return super().schedule_relative(duetime, run_out, state)
