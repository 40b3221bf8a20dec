"""One of those who ask the same at once asks; the others get what it comes to."""

from __future__ import annotations

import contextvars
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeAlias, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import SerialDisposable, SingleAssignmentDisposable
from reactivex.scheduler import ImmediateScheduler
from reactivex.scheduler.eventloop import AsyncIOScheduler

from rxagent.errors import StreamCancelledError, StreamError
from rxagent.runtime import LoopEnd, LoopScheduler, loop_for

T = TypeVar("T")
E = TypeVar("E")

Land: TypeAlias = Callable[[T | None], None]
"""Told once by who leads: what the others may have."""

_Question: TypeAlias = tuple[int, str]
"""The process, and what is asked."""

_log = logging.getLogger("rxagent.advisors.cache")


class Flights(Generic[T, E]):
    """Streams that are under way, by what they ask for.

    Who comes first leads.  Who comes while it is under way waits until it lands, and
    then gets what it has landed, without asking; if that is ``None``, all who wait ask
    at once.  If it fails before, is left, or its loop is closed, the next one leads.
    """

    def __init__(self) -> None:
        # The first of each leads.
        self._seats: dict[_Question, dict[_Seat[T, E], None]] = {}
        self._lock = threading.Lock()

    def board(
        self,
        key: str,
        *,
        lead: Callable[[Land[T]], Observable[E]],
        follow: Callable[[T], Observable[E]],
    ) -> Observable[E]:
        """Ask, or get what somebody else has asked for.

        Args:
            key: Equal for those who ask for the same.
            lead: Makes the stream that asks, and that lands.
            follow: Makes the stream of one who did not ask.

        Returns:
            A cold observable.  Disposing it stops what it has subscribed to; nobody
            else's stream.  If its loop is closed while it waits, the error is
            `StreamCancelledError`.
        """

        def subscribe(
            observer: abc.ObserverBase[E], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            question = os.getpid(), key  # whoever leads does not live on after a fork
            seat = _Seat(self, question, lead, follow, observer, scheduler)
            with self._lock:
                seats = self._seats.setdefault(question, {})
                seats[seat] = None
                leads = len(seats) == 1
            seat.watch()
            if leads:
                seat.lead()
            return seat

        return Observable(subscribe)

    def leave(self, seat: _Seat[T, E]) -> None:
        """Take somebody off the list; if that one has led, the next one does."""
        # Who is not on it may come from the collector, which may run under the lock.
        while seat.is_there:
            with self._lock:
                seats = self._seats.get(seat.question, {})
                seat.is_there = False
                if not _leads(seat, seats):
                    seats.pop(seat, None)
                    return
                del seats[seat]
                if not seats:
                    del self._seats[seat.question]
                    return
                seat = next(iter(seats))
            if seat.take_over():
                return

    def land(self, seat: _Seat[T, E], landed: T | None) -> None:
        """End a flight, if it is the one who leads: the others get that, or ask."""
        with self._lock:
            if not _leads(seat, self._seats.get(seat.question, {})):
                return
            _, *waiting = seats = self._seats.pop(seat.question)
            for each in seats:
                each.is_there = False
        for each in waiting:
            each.arrive(landed)


def _leads(seat: _Seat[T, E], seats: dict[_Seat[T, E], None]) -> bool:
    return next(iter(seats), None) is seat


class _Seat(abc.DisposableBase, Generic[T, E]):
    """The place of one who asks; disposing leaves it."""

    def __init__(
        self,
        flights: Flights[T, E],
        question: _Question,
        lead: Callable[[Land[T]], Observable[E]],
        follow: Callable[[T], Observable[E]],
        observer: abc.ObserverBase[E],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self.question = question
        self._flights = flights
        self._lead = lead
        self._follow = follow
        self._observer = observer
        self._scheduler = scheduler
        self._own = _own(scheduler)
        self._variables = contextvars.copy_context()
        self.is_there = True
        """On the list of those who ask."""
        self._waits = True
        self._stream = SerialDisposable()
        self._loop_end = SingleAssignmentDisposable()

    def watch(self) -> None:
        """Leave when the loop is closed, on which nothing goes on."""
        if isinstance(self._own, LoopScheduler):
            self._loop_end.disposable = LoopEnd(self._own.loop, self._loop_ended)

    def lead(self) -> None:
        """Ask, for all who wait."""
        self._go_on(self._lead(self._land), self._failed, self._completed)

    def take_over(self) -> bool:
        """Lead, once this one's own scheduler comes to it; False if it never will."""
        return self._soon(self.lead)

    def arrive(self, landed: T | None) -> None:
        """Get what somebody else has asked for, or ask alone."""

        def go_on() -> None:
            source = self._lead(_ignored) if landed is None else self._follow(landed)
            self._go_on(source, self._observer.on_error, self._observer.on_completed)

        self._soon(go_on)

    def dispose(self) -> None:
        """Leave."""
        self._stream.dispose()
        self._loop_end.dispose()
        self._flights.leave(self)

    def _go_on(
        self,
        source: Observable[E],
        on_error: Callable[[Exception], None],
        on_completed: Callable[[], None],
    ) -> None:
        self._waits = False
        slot = SingleAssignmentDisposable()
        self._stream.disposable = slot
        if not self._stream.is_disposed:
            slot.disposable = source.subscribe(
                self._observer.on_next,
                on_error,
                on_completed,
                scheduler=self._scheduler,
            )

    def _failed(self, error: Exception) -> None:
        self._flights.leave(self)
        self._observer.on_error(error)

    def _completed(self) -> None:
        self._land(None)
        self._observer.on_completed()

    def _land(self, landed: T | None) -> None:
        self._flights.land(self, landed)

    def _loop_ended(self) -> None:
        self._flights.leave(self)
        if self._waits:
            self._cancelled("the event loop of a stream was closed")

    def _cancelled(self, why: str) -> None:
        error = f"{why} while it waited for the answer to the same question"
        with suppress(StreamCancelledError):  # with no on_error it comes back
            self._variables.run(self._observer.on_error, StreamCancelledError(error))

    def _soon(self, act: Callable[[], None]) -> bool:
        def run(_: abc.SchedulerBase, __: object = None) -> None:
            self._variables.run(act)  # not in those of whoever has led

        try:
            self._own.schedule(run)
        except StreamError as error:  # its loop is closed, so nobody is there
            _log.debug("somebody who waited for an answer is gone: %s", error)
            return False
        except Exception as error:  # noqa: BLE001 - of a scheduler that is not ours
            _log.debug("somebody who waited for an answer is gone: %s", error)
            self._cancelled(f"the scheduler of a stream has ended ({error!r})")
            return False
        return True


def _own(scheduler: abc.SchedulerBase | None) -> abc.SchedulerBase:
    """Where one who waits goes on; not in the thread and on the stack of another."""
    if scheduler is None or isinstance(
        scheduler, AsyncIOScheduler | ImmediateScheduler
    ):
        return LoopScheduler(loop_for(scheduler))
    return scheduler


def _ignored(_: object) -> None:
    return None
