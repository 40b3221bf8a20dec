"""Calling functions on an event loop, and what goes wrong there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rxagent.errors import StreamError

__all__ = ["call_on", "closed_error", "exit_error", "on_loop"]


def on_loop(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether the caller runs on ``loop``."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def call_on(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> bool:
    """Call ``function`` now if on ``loop``, else soon; never wait.

    Args:
        loop: Where it is called.
        function: Takes nothing.

    Returns:
        Whether it is called: a closed loop calls nothing, and runs nothing either.
    """
    if on_loop(loop):
        function()
        return True
    try:
        loop.call_soon_threadsafe(function)
    except RuntimeError:
        if not loop.is_closed():
            raise
        return False
    return True


def closed_error() -> StreamError:
    """What happens on a loop that nothing runs on any more."""
    return StreamError(
        "the event loop that was chosen for a stream is closed; "
        "subscribe on a running loop, or choose none"
    )


def exit_error(exit_: SystemExit) -> StreamError:
    """What a reader is told when a callback of its stream tries to exit.

    The exit itself would end the thread of the loop, and all that runs on it.
    """
    error = StreamError(
        f"a callback of a stream tried to exit the program ({exit_}); "
        "raise an exception instead, and exit where the stream is read"
    )
    error.__cause__ = exit_
    return error
