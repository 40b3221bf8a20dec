"""Events that wait for verdicts: checked side by side, released in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, SingleAssignmentDisposable

from rxagent.events import ChatEvent
from rxagent.guards.verdicts import Verdict

__all__ = ["Line"]


@dataclass(slots=True, kw_only=True, eq=False)
class _Place:
    """A place in the line.

    Args:
        text: To check.
        events: Released when it has passed.
        is_end: What stands before it is not void, whatever comes.
    """

    text: str
    events: deque[ChatEvent]
    is_end: bool
    is_settled: bool = False
    error: Exception | None = None
    asking: SingleAssignmentDisposable = field(
        default_factory=SingleAssignmentDisposable
    )


class Line:
    """A line of texts, each with the events that must not go out before it has passed.

    Which text stops it, and what goes out before, does not depend on which check is the
    faster one: a text that does not pass waits for those before it.

    Verdicts may come on any thread.  Whoever calls anything but ``is_empty`` and
    ``is_over`` holds the lock.

    Args:
        ask: Emits the verdict on a text, or fails.
        judge: The error of a text by its verdict, or by the failure of its check;
            ``None`` if it passes.
        observer: Gets what is released; the error of a text that does not pass, when
            all before it is out; and completion, when `close` was called and all is.
        stop: Called once, as soon as a text does not pass, wherever it stands.
        max_concurrency: Checks that run at once.
        at_once: A text that does not pass waits for no other.
        scheduler: Of the subscription.
    """

    def __init__(
        self,
        ask: Callable[[str], Observable[Verdict]],
        judge: Callable[[Verdict | Exception], Exception | None],
        observer: abc.ObserverBase[ChatEvent],
        *,
        stop: Callable[[], None],
        max_concurrency: int,
        at_once: bool,
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self.lock = threading.RLock()
        self.running = CompositeDisposable()
        """The checks that run; once it is disposed, no other begins."""
        self.is_over = False
        """It takes no more: a text has not passed, or all was dropped."""
        self._ask = ask
        self._judge = judge
        self._observer = observer
        self._stop = stop
        self._max_concurrency = max_concurrency
        self._at_once = at_once
        self._scheduler = scheduler
        self._places: deque[_Place] = deque()
        self._unasked: deque[_Place] = deque()
        self._asked = 0  # that have no verdict yet
        self._is_closed = False
        self._is_advancing = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits, and nothing is on its way out."""
        return not self._places

    def push(
        self, text: str, events: Sequence[ChatEvent], *, is_end: bool = False
    ) -> None:
        """Let ``events`` wait for the verdict on ``text``, and for all before."""
        place = _Place(
            text=text, events=deque(events), is_end=is_end, is_settled=not text
        )
        self._places.append(place)
        if text:
            self._unasked.append(place)
        self._advance()

    def close(self) -> None:
        """Nothing comes any more."""
        self._is_closed = True
        self._advance()

    def void(self) -> Sequence[ChatEvent]:
        """Forget the texts since the last end; return the events that wait there."""
        events: deque[ChatEvent] = deque()
        while self._places and not self._places[-1].is_end:
            place = self._places.pop()
            events.extendleft(reversed(place.events))
            place.events.clear()  # it may be on its way out
            if self._unasked and self._unasked[-1] is place:
                self._unasked.pop()
            elif not place.is_settled:
                self._asked -= 1
            self._forget(place)
        return events

    def drop(self) -> None:
        """Release nothing any more."""
        self.is_over = True
        self._places.clear()
        self._unasked.clear()
        self.running.dispose()

    def _advance(self) -> None:
        if self._is_advancing:
            return  # a verdict that comes while it is asked for, or what emitting did
        self._is_advancing = True
        try:
            while self._takes_a_step():
                pass
        finally:
            self._is_advancing = False

    def _takes_a_step(self) -> bool:
        if self._places and self._places[0].is_settled:
            self._release(self._places[0])
        elif self._unasked and self._asked < self._max_concurrency:
            self._ask_about(self._unasked.popleft())
        else:
            if self._is_closed and not self._places and not self.is_over:
                self.is_over = True
                self._observer.on_completed()
            return False
        return True

    def _ask_about(self, place: _Place) -> None:
        if self.running.is_disposed:
            return
        self._asked += 1
        self.running.add(place.asking)
        place.asking.disposable = self._ask(place.text).subscribe(
            partial(self._settle, place),
            partial(self._settle, place),
            scheduler=self._scheduler,
        )

    def _settle(self, place: _Place, said: Verdict | Exception) -> None:
        with self.lock:
            if place.is_settled or self.running.is_disposed:
                return  # a verdict that comes too late
            place.is_settled = True
            place.error = self._judge(said)
            self._asked -= 1
            self.running.remove(place.asking)
            if place.error is not None:
                self._end_at(place)
            self._advance()

    def _end_at(self, place: _Place) -> None:
        """Drop what is behind a text that does not pass."""
        while self._places[-1] is not place:
            self._forget(self._places.pop())
        while self._at_once and self._places[0] is not place:
            self._forget(self._places.popleft())
        self._unasked.clear()
        if not self.is_over:
            self.is_over = True
            self._stop()

    def _forget(self, place: _Place) -> None:
        place.is_settled = True
        self.running.remove(place.asking)

    def _release(self, place: _Place) -> None:
        if place.error is not None:
            self._places.clear()
            self._observer.on_error(place.error)
            return
        while place.events:
            self._observer.on_next(place.events.popleft())
        if self._places and self._places[0] is place:  # not dropped meanwhile
            self._places.popleft()
