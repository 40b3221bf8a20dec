"""Telling whoever listens to a source what was raised in it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TypeVar, cast

from reactivex import abc

from rxagent.errors import StreamCancelledError
from rxagent.runtime._loop import exit_error
from rxagent.runtime._portal import Portal

__all__ = ["told"]

T = TypeVar("T")


def told(
    observer: abc.ObserverBase[T],
    error: BaseException,
    *,
    loop: asyncio.AbstractEventLoop,
    is_stopped: bool,
) -> bool:
    """Make what a source or its observer has raised the error of the stream.

    Args:
        observer: Told, unless it has stopped.
        error: Of any kind; a cancellation, an exit and Ctrl-C become what a stream can
            say.
        loop: Of the stream.
        is_stopped: Nobody listens any more.

    Returns:
        Whether it has to be raised again, so that the loop hears of it, too.
    """
    portal = Portal.of(loop)
    match error:
        case asyncio.CancelledError():
            if not is_stopped and (portal is None or not portal.closing):
                # With no on_error it comes back, and stays what it is for asyncio: a
                # cancellation, and no failure.
                with suppress(StreamCancelledError):
                    observer.on_error(
                        StreamCancelledError("the task of a stream was cancelled")
                    )
            return True
        case SystemExit():
            if not is_stopped:
                observer.on_error(exit_error(error))
            return portal is None  # a loop of somebody else ends as that one wants it
        case Exception():
            # Whatever it is goes downstream.  A callback that raised for want of an
            # on_error has stopped the stream, so only the loop is left to be told.
            if not is_stopped:
                observer.on_error(error)
            return is_stopped
        case _:
            # Ctrl-C, or how a test framework ends a test.  Whoever waits has to know.
            if not is_stopped:
                observer.on_error(cast("Exception", error))
            return portal is None and isinstance(error, KeyboardInterrupt)
