"""One of those who ask the same at once asks; the others get what it comes to."""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import SerialDisposable, SingleAssignmentDisposable
from reactivex.scheduler import ImmediateScheduler
from reactivex.scheduler.eventloop import AsyncIOScheduler

from rxagent.errors import StreamError
from rxagent.runtime import LoopScheduler, loop_for

T = TypeVar("T")
E = TypeVar("E")

Land: TypeAlias = Callable[[T | None], None]
"""Told once by who leads: what the others may have."""

_log = logging.getLogger("rxagent.advisors.cache")


class Flights(Generic[T, E]):
    """Streams that are under way, by what they ask for.

    Who comes first leads.  Who comes while it is under way waits until it lands, and
    then gets what it has landed, without asking; if that is ``None``, all who wait ask
    at once.  If it fails before or is left, the next one leads.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, dict[_Seat[T, E], None]] = {}
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
            else's stream.
        """

        def subscribe(
            observer: abc.ObserverBase[E], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            seat = _Seat(self, key, lead, follow, observer, scheduler)
            with self._lock:
                others = self._waiting.get(key)
                if others is None:
                    self._waiting[key] = {}
                else:
                    seat.own = _own(scheduler)
                    others[seat] = None
            if others is None:
                seat.lead()
            return seat

        return Observable(subscribe)

    def leave(self, seat: _Seat[T, E]) -> None:
        """Take somebody off the list who waits no more."""
        with self._lock:
            self._waiting.get(seat.key, {}).pop(seat, None)

    def land(self, key: str, landed: T | None) -> None:
        """End a flight: who waits gets what was landed, or asks."""
        with self._lock:
            waiting = self._waiting.pop(key)
        for seat in waiting:
            seat.arrive(landed)

    def hand_on(self, key: str) -> None:
        """Let the next one lead, if there is one."""
        while True:
            with self._lock:
                waiting = self._waiting[key]
                if not waiting:
                    del self._waiting[key]
                    return
                seat = next(iter(waiting))
                del waiting[seat]
            if seat.take_over():
                return


class _Seat(abc.DisposableBase, Generic[T, E]):
    """The place of one who asks; disposing leaves it."""

    def __init__(
        self,
        flights: Flights[T, E],
        key: str,
        lead: Callable[[Land[T]], Observable[E]],
        follow: Callable[[T], Observable[E]],
        observer: abc.ObserverBase[E],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self.key = key
        self._flights = flights
        self._lead = lead
        self._follow = follow
        self._observer = observer
        self._scheduler = scheduler
        self.own: abc.SchedulerBase | None = None
        """Where one who has waited goes on."""
        self._variables = contextvars.copy_context()
        self._lock = threading.Lock()
        self._leads = False
        self._is_left = False
        self._stream = SerialDisposable()

    def lead(self) -> None:
        """Ask, for all who wait."""
        with self._lock:
            self._leads = not self._is_left
        if not self._leads:
            self._flights.hand_on(self.key)
            return
        slot = SingleAssignmentDisposable()
        self._stream.disposable = slot
        slot.disposable = self._lead(self._land).subscribe(
            self._observer.on_next,
            self._failed,
            self._completed,
            scheduler=self._scheduler,
        )

    def take_over(self) -> bool:
        """Lead, once this one's own scheduler comes to it; False if it never will."""
        return self._soon(self.lead)

    def arrive(self, landed: T | None) -> None:
        """Get what somebody else has asked for, or ask alone."""

        def go_on() -> None:
            source = self._lead(_ignored) if landed is None else self._follow(landed)
            slot = SingleAssignmentDisposable()
            self._stream.disposable = slot
            if not self._stream.is_disposed:
                slot.disposable = source.subscribe(
                    self._observer, scheduler=self._scheduler
                )

        self._soon(go_on)

    def dispose(self) -> None:
        """Leave."""
        with self._lock:
            self._is_left = True
        self._stream.dispose()
        if not self._hand_on():
            self._flights.leave(self)

    def _failed(self, error: Exception) -> None:
        self._hand_on()
        self._observer.on_error(error)

    def _completed(self) -> None:
        self._land(None)
        self._observer.on_completed()

    def _hand_on(self) -> bool:
        led = self._no_longer_leads()
        if led:
            self._flights.hand_on(self.key)
        return led

    def _land(self, landed: T | None) -> None:
        if self._no_longer_leads():
            self._flights.land(self.key, landed)

    def _no_longer_leads(self) -> bool:
        """Whether it has led until now."""
        with self._lock:
            led, self._leads = self._leads, False
        return led

    def _soon(self, act: Callable[[], None]) -> bool:
        def run(_: abc.SchedulerBase, __: object = None) -> None:
            self._variables.run(act)  # not in those of whoever has led

        try:
            assert self.own is not None, "it has never waited"
            self.own.schedule(run)
        except StreamError as error:  # its loop is closed, so nobody is there
            _log.debug("somebody who waited for an answer is gone: %s", error)
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
