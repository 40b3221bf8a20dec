"""What belongs to one event loop, such as a client with its connections."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Generic, TypeVar

__all__ = ["PerLoop"]

T = TypeVar("T")

_TURNS = 10  # of a loop; more than it takes to end


class PerLoop(Generic[T]):
    """One of something for each event loop, which closes with its loop or with this.

    Args:
        close: Closes one; called on its loop, at whichever end comes first.
    """

    def __init__(self, close: Callable[[T], Awaitable[object]]) -> None:
        self._close = close
        self._found: dict[asyncio.AbstractEventLoop, T] = {}
        self._lifetimes: dict[asyncio.AbstractEventLoop, AsyncGenerator[T]] = {}
        # Held from outside until then: sockets that are garbage together with this
        # object would be lost before anything could close them.
        weakref.finalize(self, _end_soon, self._lifetimes).atexit = False

    def here(self) -> T | None:
        """The one of the running loop, if it is there."""
        return self._found.get(asyncio.get_running_loop())

    async def opened(self, make: Callable[[], T]) -> T:
        """The one of the running loop, made if need be.

        Args:
            make: Makes it.
        """
        loop = asyncio.get_running_loop()
        if loop not in self._found:
            for closed in [each for each in self._found if each.is_closed()]:
                del self._found[closed], self._lifetimes[closed]
            lifetime = _lifetime(make(), self._close)
            self._lifetimes[loop] = lifetime
            self._found[loop] = await anext(lifetime)
        return self._found[loop]


def _end_soon(lifetimes: dict[asyncio.AbstractEventLoop, AsyncGenerator[T]]) -> None:
    for loop, lifetime in lifetimes.items():
        with suppress(RuntimeError):  # the loop is closed, and what it had with it
            loop.call_soon_threadsafe(_hold, loop, lifetime, _TURNS)
    lifetimes.clear()


def _hold(
    loop: asyncio.AbstractEventLoop, lifetime: AsyncGenerator[T], turns: int
) -> None:
    """Keep ``lifetime`` for some turns: the loop may end with its owner, right now.

    It then cancels every task, also one that closes a client, and after that closes the
    generators that are still there.
    """
    if turns > 0:
        loop.call_soon(_hold, loop, lifetime, turns - 1)


async def _lifetime(
    item: T, close: Callable[[T], Awaitable[object]]
) -> AsyncGenerator[T]:
    """Keep ``item`` open for as long as this generator lives.

    A loop closes its unfinished async generators when it ends (``asyncio.run`` and the
    portal ask it to), and finishes one that is garbage collected.  So a client closes
    with its loop or with its owner, whichever goes first, and nobody has to remember.
    """
    try:
        yield item
    finally:
        await close(item)
