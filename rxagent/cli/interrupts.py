"""Ctrl-C where it means something, and nowhere else."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self

__all__ = ["Interrupts"]


class Interrupts:
    """Raises ``KeyboardInterrupt`` in the blocks that expect it, once for each.

    Python's own handler raises anywhere, so that the second Ctrl-C of an impatient hand
    would break what cleans up after the first.  A context manager, for the main thread;
    it leaves a program alone that was started with Ctrl-C switched off.  After the
    block, if one was raised in it, Ctrl-C ends the process at once: what is left then
    is to wait for threads that cannot be stopped.
    """

    def __init__(self) -> None:
        self._expected = self._happened = False
        self._before = signal.getsignal(signal.SIGINT)

    @contextmanager
    def expected(self) -> Generator[None]:
        """Let the first Ctrl-C in this block raise."""
        self._expected = True
        try:
            yield
        finally:
            self._expected = False

    def __enter__(self) -> Self:
        if self._before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._happened:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        elif self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._expected:
            self._expected, self._happened = False, True
            raise KeyboardInterrupt
