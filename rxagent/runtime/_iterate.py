from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Generic, Literal, ParamSpec, TypeAlias, TypeVar

from reactivex import Observable
from reactivex.disposable import SingleAssignmentDisposable

from rxagent.choices import check_choice
from rxagent.errors import BufferOverflowError, ConfigurationError, NoItemsError
from rxagent.runtime._loop import call_on
from rxagent.runtime._scheduler import Demand, LoopScheduler

__all__ = ["Overflow", "check_maxsize", "iterate", "last_of"]

T = TypeVar("T")
P = ParamSpec("P")

Overflow: TypeAlias = Literal["suspend", "error", "drop_oldest", "drop_newest"]
"""What a full buffer does: pause the source, fail, or lose an item."""

# What may come after a pause: one read of a socket is 64 KiB, and no item is smaller
# than a byte.
_BURST = 65_536


def check_maxsize(maxsize: object) -> None:
    """Refuse what is no size of a buffer."""
    if not isinstance(maxsize, int) or maxsize < 1:
        raise ConfigurationError(f"maxsize must be 1 or more items, got {maxsize!r}")


class _Mailbox(Generic[T]):
    """A bounded buffer between a stream and one reader on the same loop.

    Args:
        loop: Of the reader.
        maxsize: Items that may wait.
        overflow: What happens when they do.
        stop: Called when the buffer gives up.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        maxsize: int,
        overflow: Overflow,
        stop: Callable[[], None],
    ) -> None:
        self.demand = Demand(loop) if overflow == "suspend" else None
        self._loop = loop
        self._maxsize = maxsize
        self._limit = maxsize + _BURST if overflow == "suspend" else maxsize
        self._overflow = overflow
        self._stop = stop
        self._items: deque[T] = deque()
        self._arrival: asyncio.Future[None] | None = None
        self._ended = False
        self._failure: Exception | None = None

    def put(self, item: T) -> None:
        if self._ended:
            return
        if len(self._items) >= self._limit:
            if self._overflow == "drop_newest":
                return
            if self._overflow != "drop_oldest":
                self.end(BufferOverflowError(len(self._items)))
                self._stop()
                return
            self._items.popleft()
        self._items.append(item)
        if self.demand is not None and len(self._items) >= self._maxsize:
            self.demand.pause()
        self._wake()

    def end(self, failure: Exception | None = None) -> None:
        if not self._ended:
            self._ended, self._failure = True, failure
            self._wake()

    async def take(self) -> T:
        """Wait for the next item; raises ``StopAsyncIteration`` or the failure."""
        while not self._items:
            if self._failure is not None:
                raise self._failure
            if self._ended:
                raise StopAsyncIteration
            self._arrival = self._loop.create_future()
            await self._arrival
        item = self._items.popleft()
        if (
            self.demand is not None
            and self.demand.paused
            and len(self._items) <= self._maxsize // 2
        ):
            self.demand.resume()
        return item

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)
        self._arrival = None


def _on_thread_of(
    loop: asyncio.AbstractEventLoop, function: Callable[P, None]
) -> Callable[P, None]:
    """Call ``function`` on this thread, which runs ``loop``, whoever calls."""
    home = threading.get_ident()

    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        if threading.get_ident() == home:
            function(*args, **kwargs)
        else:
            call_on(loop, lambda: function(*args, **kwargs))

    return call


def iterate(
    source: Observable[T], *, maxsize: int = 256, overflow: Overflow = "suspend"
) -> AsyncGenerator[T]:
    """Iterate a stream on the running loop, through a bounded buffer.

    Leaving early disposes the stream; inside ``contextlib.aclosing`` at once, else when
    the iterator is collected.

    Args:
        source: Subscribed at the first step.
        maxsize: Items that may wait.
        overflow: ``"suspend"`` pauses the source, down to the socket; what was read by
            then is kept, and a source that goes on, because it cannot pause, fails
            65,536 items later.  ``"error"`` fails at once.  ``"drop_oldest"`` and
            ``"drop_newest"`` lose items and are for progress, never for text.

    Returns:
        An async generator of the items.  A step raises the error of the stream, and
        `BufferOverflowError` if the buffer was full and nothing may be lost; after the
        items that did fit.

    Raises:
        ConfigurationError: At the call, if ``maxsize`` is no number of items, or
            ``overflow`` no policy.
    """
    check_maxsize(maxsize)
    check_choice("overflow", overflow, Overflow)
    return _iterate(source, maxsize, overflow)


async def _iterate(
    source: Observable[T], maxsize: int, overflow: Overflow
) -> AsyncGenerator[T]:
    loop = asyncio.get_running_loop()
    subscription = SingleAssignmentDisposable()
    mailbox: _Mailbox[T] = _Mailbox(loop, maxsize, overflow, subscription.dispose)
    end = _on_thread_of(loop, mailbox.end)

    def fail(error: BaseException) -> None:
        if not isinstance(error, Exception):
            raise error  # the loop is somebody else's, and ends as that one wants it
        end(error)

    try:
        subscription.disposable = source.subscribe(
            _on_thread_of(loop, mailbox.put),
            end,
            end,
            scheduler=LoopScheduler(loop, mailbox.demand, fail),
        )
        while True:
            try:
                item = await mailbox.take()
            except StopAsyncIteration:
                return
            yield item
    finally:
        subscription.dispose()


async def last_of(source: Observable[T]) -> T:
    """Wait, on the running loop, for a stream to complete, and return its last item."""
    loop = asyncio.get_running_loop()
    last: list[T] = []
    failures: list[Exception] = []
    ended = asyncio.Event()

    def keep(item: T) -> None:
        last[:] = (item,)

    def fail(failure: Exception) -> None:
        failures.append(failure)
        ended.set()

    subscription = SingleAssignmentDisposable()
    try:
        subscription.disposable = source.subscribe(
            keep,
            _on_thread_of(loop, fail),
            _on_thread_of(loop, ended.set),
            scheduler=LoopScheduler(loop),
        )
        await ended.wait()
    finally:
        subscription.dispose()
    if failures:
        raise failures[0]
    if not last:
        raise NoItemsError("the stream completed without an item")
    return last[0]
