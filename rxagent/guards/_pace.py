"""One run of `smooth`: events that wait for their time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from math import inf

from reactivex import abc
from reactivex.disposable import SerialDisposable

from rxagent.events import (
    ChatEvent,
    Delta,
    Finished,
    Retracted,
    RoundFinished,
    TextDelta,
)
from rxagent.guards._words import Words
from rxagent.requests import Origin

__all__ = ["Pace"]

_TICK_S = 0.04  # as often as an eye can tell
_NO_TIME_S = 1e-6  # no datetime is finer
_ENDS = (RoundFinished, Finished)


class Pace:
    """A queue of events; a word leaves when the one before it has been read.

    The timer may fire on another thread than the source's.  A word that waits takes no
    lock all the same: the deque is safe, and ``_is_running`` is written before the
    queue is read on one side, and read after the queue is written on the other.

    Args:
        observer: Gets the events.
        clock: Keeps the time.
        rate: In characters per second.
        catch_up_s: Longest time that an end waits, in seconds.
    """

    def __init__(
        self,
        observer: abc.ObserverBase[ChatEvent],
        clock: abc.SchedulerBase,
        *,
        rate: float,
        catch_up_s: float,
    ) -> None:
        self.timer = SerialDisposable()
        self._observer = observer
        self._clock = clock
        self._start = clock.now
        self._base_rate = self._rate = rate
        self._catch_up_s = catch_up_s
        self._words = Words()
        self._origin = Origin()  # of the word that is not ended
        self._queue: deque[ChatEvent | None] = deque()  # None is the completion
        self._next_s = 0.0  # when the next word may leave
        self._ends: deque[float] = deque()  # when the ends that wait must have left
        self._is_running = False  # the timer
        self._emitting = threading.RLock()

    def on_next(self, event: ChatEvent) -> None:
        """Queue an event."""
        if isinstance(event, TextDelta):
            if event.origin is not self._origin:
                self._queue.extend(self._deltas(self._words.flush()))
                self._origin = event.origin
            self._queue.extend(self._deltas(self._words.feed(event.text)))
            if self._queue and not self._is_running:
                self._deliver()
            return
        with self._emitting:
            if isinstance(event, Retracted):
                self._drop()
            self._queue.extend(self._deltas(self._words.flush()))
            self._queue.append(event)
            if isinstance(event, _ENDS):
                self._ends.append(self._now_s() + self._catch_up_s)
            self._hurry()
            self._deliver()

    def on_completed(self) -> None:
        """Queue the completion."""
        with self._emitting:
            self._queue.extend(self._deltas(self._words.flush()))
            self._queue.append(None)
            self._ends.append(self._now_s() + self._catch_up_s)
            self._hurry()
            self._deliver()

    def on_error(self, error: Exception) -> None:
        """Drop what waits."""
        with self._emitting:
            self._queue.clear()
            self.timer.dispose()
            self._observer.on_error(error)

    def _deltas(self, words: Iterable[str]) -> Iterable[TextDelta]:
        return [TextDelta(text=word, origin=self._origin) for word in words]

    def _now_s(self) -> float:
        return (self._clock.now - self._start).total_seconds()

    def _drop(self) -> None:
        """Forget the answer that waits; it is void, and nobody has seen it."""
        self._words = Words()
        kept: list[ChatEvent | None] = []
        while self._queue and not isinstance(self._queue[-1], _ENDS):
            event = self._queue.pop()
            if not isinstance(event, Delta):
                kept.append(event)
        self._queue.extend(reversed(kept))

    def _hurry(self) -> None:
        """Be as fast as the end that waits wants it."""
        self._rate = self._base_rate
        if not self._ends:
            return
        now = self._now_s()
        left_s = self._ends[-1] - now
        waiting = self._queue.copy()  # the source may lengthen it meanwhile
        chars = sum(len(each.text) for each in waiting if isinstance(each, TextDelta))
        self._rate = max(self._rate, chars / left_s if left_s > 0 else inf)
        self._next_s = min(self._next_s, now + _TICK_S)

    def _deliver(self, *_: object) -> None:
        """Let out what may leave, and set the timer for what may not."""
        with self._emitting:
            self._is_running = False
            now = self._now_s()
            while self._queue and self._may_leave(self._queue[0], now):
                self._emit(self._queue.popleft())
            if self._queue:
                self._is_running = True
                wait_s = max(self._next_s - now, _TICK_S)
                if self._ends:
                    wait_s = min(wait_s, max(self._ends[0] - now, 0))
                self.timer.disposable = self._clock.schedule_relative(
                    wait_s, self._deliver
                )

    def _may_leave(self, event: ChatEvent | None, now: float) -> bool:
        if not isinstance(event, TextDelta):
            return True
        is_overdue = bool(self._ends) and self._ends[0] <= now
        if self._next_s > now + _NO_TIME_S and not is_overdue:
            return False
        # What a tick came late is made up for; a pause is not.
        begun = self._next_s if now - self._next_s <= _TICK_S else now
        self._next_s = begun + len(event.text) / self._rate
        return True

    def _emit(self, event: ChatEvent | None) -> None:
        if event is None:
            self._observer.on_completed()
            return
        self._observer.on_next(event)
        if isinstance(event, _ENDS):
            self._ends.popleft()
            self._hurry()
