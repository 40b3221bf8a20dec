from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from rxagent.runtime import LoopScheduler


class Loop(asyncio.SelectorEventLoop):
    """A loop whose clock is set by hand."""

    at_s = 1_000.0

    def time(self) -> float:
        return self.at_s


def test_the_time_of_day_goes_on_as_the_clock_of_the_loop_does() -> None:
    """Whoever sets the clock of the machine does not lengthen a silence."""
    loop = Loop()
    try:
        earliest = datetime.now(UTC)
        scheduler = LoopScheduler(loop)
        made = scheduler.now
        assert earliest <= made <= datetime.now(UTC)

        loop.at_s += 90

        assert scheduler.now - made == timedelta(seconds=90)
    finally:
        loop.close()
