from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from types import FrameType
from typing import ParamSpec, TypeVar

__all__ = ["interruptible"]

P = ParamSpec("P")
T = TypeVar("T")


def interruptible(wait: Callable[P, T]) -> Callable[P, T]:
    """Let Ctrl-C end a wait that blocks a task, as it does anywhere else.

    The handler of ``asyncio.run`` cancels the task, which hears of it at its next
    ``await``; a task that waits by blocking its loop comes to none.  Whether to cancel
    stays with the handler that is there.

    Args:
        wait: Blocks, and can be left by an exception.

    Returns:
        The same; it raises ``CancelledError`` if a signal cancels the task that calls.
    """
    task = _task_of_this_thread()
    if task is None:
        return wait
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or before is signal.default_int_handler:
        return wait

    def on_signal(number: int, frame: FrameType | None) -> None:
        before(number, frame)
        if task.cancelling():
            raise asyncio.CancelledError

    def waited(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            signal.signal(signal.SIGINT, on_signal)
        except ValueError:  # not the main thread, which no signal interrupts
            return wait(*args, **kwargs)
        try:
            return wait(*args, **kwargs)
        finally:
            signal.signal(signal.SIGINT, before)

    return waited


def _task_of_this_thread() -> asyncio.Task[object] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
