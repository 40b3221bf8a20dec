"""The text of an answer, cut into windows, with the events that came in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from rxagent.events import ChatEvent, TextDelta
from rxagent.guards._text_guard import TextGuard

__all__ = ["Window", "Windows"]


class Window(NamedTuple):
    """A window that is closed.

    Args:
        text: What a check sees: the text, with what comes before it as overlap; empty
            if there is nothing to check.
        events: Its deltas, and what came between them and right after.
    """

    text: str
    events: Sequence[ChatEvent]


class Windows:
    """The windows of one text.

    Args:
        cut: Makes a transducer of which each piece is a window; only the lengths of the
            pieces count.  ``None``: somebody else says when one is closed.
        overlap: Characters of the text before that each check sees, too.
        whole: Whether the whole text will be checked.
    """

    def __init__(self, cut: TextGuard | None, *, overlap: int, whole: bool) -> None:
        self._cut = None if cut is None else cut()
        self._overlap = overlap
        self._before = ""
        self._whole: list[str] | None = [] if whole else None
        self._count = 0  # of windows that had something to check
        # A deque, since a timer may close a window while another thread adds to it.
        self._events: deque[ChatEvent] = deque()

    @property
    def is_open(self) -> bool:
        """Whether a window has begun."""
        return bool(self._events)

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to check so far."""
        return not self._count

    def feed(self, delta: TextDelta) -> Sequence[Window]:
        """Take a piece of the text; return the windows that it closes."""
        self._events.append(delta)
        if self._cut is None:
            return ()
        return [self._take(len(piece)) for piece in self._cut.feed(delta.text)]

    def hold(self, event: ChatEvent) -> None:
        """Take an event that came while a window was open."""
        self._events.append(event)

    def close(self) -> Window:
        """Close the open window."""
        return self._window([*self._drained()])

    def void(self) -> Sequence[ChatEvent]:
        """Forget the open window; return its events."""
        return [*self._drained()]

    def flush(self) -> Sequence[Window]:
        """Close all windows: the text has ended."""
        pieces = () if self._cut is None else self._cut.flush()
        windows = [self._take(len(piece)) for piece in pieces]
        return [*windows, self.close()] if self._events else windows

    def whole(self) -> str:
        """The whole text, if it is to be checked and no window was all of it."""
        return "".join(self._whole or ()) if self._count > 1 else ""

    def _take(self, length: int) -> Window:
        events: list[ChatEvent] = []
        while length and self._events:
            event = self._events.popleft()
            if isinstance(event, TextDelta):
                text = event.text
                if len(text) > length:
                    self._events.appendleft(replace(event, text=text[length:]))
                    event = replace(event, text=text[:length])
                length -= len(event.text)
            events.append(event)
        while self._events and not isinstance(self._events[0], TextDelta):
            events.append(self._events.popleft())
        return self._window(events)

    def _drained(self) -> Iterator[ChatEvent]:
        while self._events:
            yield self._events.popleft()

    def _window(self, events: Sequence[ChatEvent]) -> Window:
        text = "".join(each.text for each in events if isinstance(each, TextDelta))
        seen = self._before + text
        if self._overlap:
            self._before = seen[-self._overlap :]
        if self._whole is not None:
            self._whole.append(text)
        if not text.strip():
            return Window("", events)
        self._count += 1
        return Window(seen, events)
