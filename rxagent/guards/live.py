"""Text that goes out before it is checked."""

from __future__ import annotations

import threading

from reactivex import abc

from rxagent.events import ChatEvent, Retracted, TextDelta
from rxagent.requests import Origin

__all__ = ["Live"]


class Live:
    """Events that go out at once, and are void if a check says so later.

    The verdict may come on another thread, or out of the very event that goes out.  An
    event takes no lock all the same: ``_is_emitting`` is written before ``_error`` is
    read on one side, and read after ``_error`` is written on the other.

    Args:
        observer: Gets the events.
    """

    def __init__(self, observer: abc.ObserverBase[ChatEvent]) -> None:
        self._observer = observer
        self._is_emitting = False
        self._error: Exception | None = None
        self._is_told = False
        self._telling = threading.Lock()
        self._origin = Origin()

    def emit(self, event: ChatEvent) -> None:
        """Let ``event`` out, unless all is void."""
        self._is_emitting = True
        if self._error is None:
            if isinstance(event, TextDelta):
                self._origin = event.origin
            self._observer.on_next(event)
        self._is_emitting = False
        if self._error is not None:
            self._tell(self._error)

    def retract(self, error: Exception) -> None:
        """Say that all is void, as soon as nothing is on its way out."""
        self._error = error
        if not self._is_emitting:
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        with self._telling:
            is_told, self._is_told = self._is_told, True
        if not is_told:
            self._observer.on_next(Retracted(reason=str(error), origin=self._origin))
            self._observer.on_error(error)
