"""Whose time an operator takes."""

from __future__ import annotations

import asyncio

from reactivex import abc
from reactivex.scheduler import (
    ImmediateScheduler,
    TimeoutScheduler,
    TrampolineScheduler,
)
from reactivex.scheduler.eventloop import AsyncIOScheduler

__all__ = ["clock_of", "running_loop"]


def clock_of(scheduler: abc.SchedulerBase | None) -> abc.SchedulerBase:
    """Choose what keeps the time of a subscription; it never blocks a thread.

    Args:
        scheduler: What the subscription passed on.

    Returns:
        That scheduler, unless there is none or it waits by sleeping; then the running
        loop; without one RxPY's timer, which is a thread for each wait.
    """
    if scheduler is None or isinstance(
        scheduler, ImmediateScheduler | TrampolineScheduler
    ):
        return running_loop() or TimeoutScheduler.singleton()
    return scheduler


def running_loop() -> abc.SchedulerBase | None:
    """The caller's event loop, as a scheduler."""
    try:
        return AsyncIOScheduler(asyncio.get_running_loop())
    except RuntimeError:
        return None
