"""One run of `hold_release`: an answer that waits for what is said of it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

from reactivex import Observable, abc
from reactivex.disposable import (
    CompositeDisposable,
    SerialDisposable,
    SingleAssignmentDisposable,
)

from rxagent.errors import GuardError
from rxagent.events import (
    ChatEvent,
    Delta,
    Finished,
    Retracted,
    RoundFinished,
    TextDelta,
)

__all__ = ["HeldAnswer", "Judged"]

Judged: TypeAlias = bool | str | GuardError
"""What is done with an answer: it is released, a text is in its place, or all stops."""

_End: TypeAlias = RoundFinished | Finished | None  # None is the completion


class HeldAnswer:
    """What one subscription knows.

    The verdict may come on another thread than the source's.  A piece that is held
    takes no lock all the same: while no verdict is awaited, the source is alone.

    Args:
        ask: Says once, of each text, what is done.
        observer: Gets the events.
        scheduler: Of the subscription.
    """

    def __init__(
        self,
        ask: Callable[[str], Observable[Judged]],
        observer: abc.ObserverBase[ChatEvent],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self.upstream = SingleAssignmentDisposable()
        self._asking = SerialDisposable()
        self.all = CompositeDisposable(self.upstream, self._asking)
        self._ask = ask
        self._observer = observer
        self._scheduler = scheduler
        self._lock = threading.RLock()
        self._held: list[ChatEvent] = []
        self._waiting: deque[ChatEvent | None] = deque()  # behind the answer's end
        self._is_judged = False  # a verdict is awaited
        self._is_busy = False  # ... or what waited for it is being taken
        self._is_over = False

    def on_next(self, event: ChatEvent) -> None:
        """Take an event of the source."""
        self._take_or_wait(event)

    def on_completed(self) -> None:
        """Complete, when all has been said."""
        self._take_or_wait(None)

    def on_error(self, error: Exception) -> None:
        """Drop what is held; nobody has said that it may be seen."""
        with self._lock:
            if not self._is_over:
                self._is_over = True
                self._asking.dispose()
                self._observer.on_error(error)

    def _take_or_wait(self, event: ChatEvent | None) -> None:
        if self._is_busy:
            with self._lock:
                if self._is_busy:
                    self._waiting.append(event)
                    return
        if not self._is_over:
            self._take(event)

    def _take(self, event: ChatEvent | None) -> None:
        if isinstance(event, Delta):
            self._held.append(event)
        elif event is None or isinstance(event, RoundFinished | Finished):
            self._end(event)
        elif isinstance(event, Retracted):
            held, self._held = self._held, []
            for each in held:
                if not isinstance(each, Delta):
                    self._observer.on_next(each)
            self._observer.on_next(event)
        elif self._held:
            self._held.append(event)
        else:
            self._observer.on_next(event)

    def _end(self, end: _End) -> None:
        pieces = (each.text for each in self._held if isinstance(each, TextDelta))
        text = "".join(pieces) or (end.response.text if end else "")
        if not text:
            self._settle(True, end)
            return
        self._is_judged = self._is_busy = True
        self._asking.disposable = self._ask(text).subscribe(
            lambda judged: self._settle(judged, end), scheduler=self._scheduler
        )

    def _settle(self, judged: Judged, end: _End) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_judged = False
            if isinstance(judged, GuardError):
                self._stop(judged, end)
                return
            held, self._held = self._held, []
            for each in held if judged is True else _replaced(held, str(judged), end):
                self._observer.on_next(each)
            if end is None:
                self._is_over = True
                self._observer.on_completed()
            else:
                self._observer.on_next(end)
            while self._waiting and not self._is_judged:
                self._take(self._waiting.popleft())
            self._is_busy = self._is_judged

    def _stop(self, error: GuardError, end: _End) -> None:
        self._is_over = True
        self._held.clear()
        self._waiting.clear()
        self.upstream.dispose()
        if end is not None:
            error.usage = end.response.usage
        self._observer.on_error(error)


def _replaced(held: list[ChatEvent], text: str, end: _End) -> Iterator[ChatEvent]:
    """What leaves in place of an answer: one text, and what is no piece of it."""
    is_told = False
    for each in held:
        if isinstance(each, TextDelta) and not is_told:
            is_told = True
            yield TextDelta(text=text, origin=each.origin)
        elif not isinstance(each, Delta):
            yield each
    if end is not None and not is_told:
        yield TextDelta(text=text, origin=end.origin)
