from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from reactivex import Observable, abc
from reactivex.disposable import (
    CompositeDisposable,
    SerialDisposable,
    SingleAssignmentDisposable,
)

from rxagent.events import ChatEvent, ReasoningDelta, TextDelta
from rxagent.operators._clock import running_loop
from rxagent.types import Operator

_Delta: TypeAlias = TextDelta | ReasoningDelta
_DELTAS = (TextDelta, ReasoningDelta)


def coalesce(seconds: float) -> Operator[ChatEvent, ChatEvent]:
    """Merge deltas that come faster than a sink can show them; nothing is lost.

    ::

        -a-b-c------d-R-(F,|)             a to d = text, R = reasoning, F = Finished
        [ coalesce(5) ]
        -a----x-----d---(R,F,|)           x = b and c in one

    The first delta leaves at once.  What follows is held for ``seconds``; then
    neighbours of one kind and one origin leave as one, and the next window begins.  Any
    other event goes out at once, after what is held.  So the text, and the order of
    everything, stay as they were.

    It changes delivery alone, so put it last, after guards.

    Args:
        seconds: How long a delta is held at most, on the subscription's scheduler; if
            there is none, on the running loop.  With neither there is no clock, and
            every delta leaves as it comes.

    Returns:
        An operator.  Completion flushes what is held, and so does an error: it was
        received, and would have been delivered.  Disposing drops it.

    Raises:
        ValueError: At the call, if ``seconds`` is not more than 0.
    """
    if not seconds > 0:
        raise ValueError(f"seconds must be more than 0, got {seconds}")

    def operator(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            window = _Window(seconds, observer, scheduler)
            upstream = SingleAssignmentDisposable()
            both = CompositeDisposable(upstream, window.timer)
            upstream.disposable = source.subscribe(
                window.on_next,
                window.on_error,
                window.on_completed,
                scheduler=scheduler,
            )
            return both

        return Observable(subscribe)

    return operator


class _Window:
    """The deltas of one subscription that wait for the end of their window.

    The timer may fire on another thread than the source's.  A delta that waits takes no
    lock all the same: the deque is safe, and ``_is_open`` is written before ``_held``
    is read on one side, and read after ``_held`` is written on the other.
    """

    def __init__(
        self,
        seconds: float,
        observer: abc.ObserverBase[ChatEvent],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self.timer = SerialDisposable()
        self._seconds = seconds
        self._observer = observer
        self._scheduler = scheduler
        self._held: deque[_Delta] = deque()
        self._is_open = False  # a timer runs
        self._emitting = threading.RLock()

    def on_next(self, event: ChatEvent) -> None:
        if isinstance(event, _DELTAS):
            self._held.append(event)
            if not self._is_open:
                with self._emitting:
                    self._open()
        else:
            with self._emitting:
                self._flush()
                self._observer.on_next(event)

    def on_error(self, error: Exception) -> None:
        with self._emitting:
            self._flush()
            self._observer.on_error(error)

    def on_completed(self) -> None:
        with self._emitting:
            self._flush()
            self._observer.on_completed()

    def _open(self) -> None:
        if self._held and not self._is_open:
            self._flush()
            clock = self._scheduler or running_loop()
            if clock is not None:
                self._is_open = True
                self.timer.disposable = clock.schedule_relative(
                    self._seconds, self._close
                )

    def _close(self, _: abc.SchedulerBase, __: object = None) -> None:
        with self._emitting:
            self._is_open = False
            self._open()

    def _flush(self) -> None:
        for event in _merged(self._held):
            self._observer.on_next(event)


def _merged(held: deque[_Delta]) -> Iterator[_Delta]:
    """Take everything out of ``held``, neighbours of one kind and origin as one."""
    while held:
        first = held.popleft()
        texts = [first.text]
        while held and _belong_together(first, held[0]):
            texts.append(held.popleft().text)
        yield first if len(texts) == 1 else replace(first, text="".join(texts))


def _belong_together(a: _Delta, b: _Delta) -> bool:
    return type(a) is type(b) and (a.origin is b.origin or a.origin == b.origin)
