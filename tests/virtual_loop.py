"""An event loop whose time jumps: nobody waits in a test."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """When nothing is ready, the time is that of the next timer.

    It does not wait for threads either: what one does comes at once or not in time.
    """

    def __init__(self) -> None:
        self._time = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._time

    def jump(self, seconds: float) -> None:
        self._time += seconds


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(0)
        if not ready:
            self._loop.jump(timeout)
        return ready


def run_virtual(main: Coroutine[object, object, T]) -> tuple[T, float]:
    """Run ``main``; what it returns, and how long it has taken in virtual seconds."""
    loop = VirtualLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        result = runner.run(main)
        return result, loop.time()
