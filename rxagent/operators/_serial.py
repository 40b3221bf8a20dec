"""Subscribing sources one after the other, without recursion."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import SerialDisposable, SingleAssignmentDisposable
from reactivex.scheduler import CurrentThreadScheduler

T = TypeVar("T")


class Serial(abc.DisposableBase, Generic[T]):
    """A queue of sources of which one at a time is subscribed.

    A source that completes while it is being subscribed leaves the next one to RxPY's
    trampoline.  So the stack does not grow, and whoever subscribed to it all has the
    disposable in hand before the next one starts: leaving after the first source never
    starts the second.  Sources may complete on any thread.

    Args:
        subscribe: Subscribes a source; whoever it calls must call `release` when the
            source completes.
    """

    def __init__(
        self, subscribe: Callable[[Observable[T]], abc.DisposableBase]
    ) -> None:
        self._subscribe = subscribe
        self._waiting: deque[Observable[T]] = deque()
        self._lock = threading.Lock()
        self._active = False  # a source is subscribed and has not been released
        self._draining = False  # some thread is inside _subscribe
        self._current = SerialDisposable()

    def push(self, source: Observable[T]) -> None:
        """Queue ``source``; it is subscribed at once if nothing else is."""
        with self._lock:
            self._waiting.append(source)
        self._drain()

    def release(self) -> None:
        """The active source has completed; the next one may start."""
        with self._lock:
            self._active = False
        self._drain()

    def dispose(self) -> None:
        """Dispose the active source and start no other."""
        self._current.dispose()

    def _drain(self) -> None:
        with self._lock:
            if self._draining or self._active or not self._waiting:
                return
            if self._current.is_disposed:
                self._waiting.clear()
                return
            self._draining = self._active = True
            source = self._waiting.popleft()
        # In its slot before it is subscribed: a synchronous source may be disposed from
        # inside its own on_next.
        slot = SingleAssignmentDisposable()
        self._current.disposable = slot
        try:
            slot.disposable = self._subscribe(source)
        finally:
            with self._lock:
                self._draining = False
                next_may_start = not self._active and bool(self._waiting)
        if next_may_start:
            CurrentThreadScheduler.singleton().schedule(self._resume)

    def _resume(self, _: abc.SchedulerBase, __: object = None) -> None:
        self._drain()
