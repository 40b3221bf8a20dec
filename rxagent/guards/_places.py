"""Where texts and events stand that wait for a guard to decide.

A queue: each text comes out where it went in, and each event after the text before it.
A text that stands for others, as a replacement does, comes out where they start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rxagent.events import (
    ChatEvent,
    Delta,
)
from rxagent.guards._lane import Lane
from rxagent.guards._pieces import continued, pieces_of, text_of
from rxagent.guards._text_guard import Span

__all__ = ["Places"]


@dataclass(slots=True, kw_only=True)
class _Text:
    """A piece of a text that went into a lane.

    Args:
        lane: The lane.
        piece: The event that brought it.
        end: Where it ends, in characters of the lane.
        texts: What came out in its place, and was not emitted.
    """

    lane: Lane
    piece: Delta
    end: int
    texts: list[str] = field(default_factory=list[str])

    def taken(self) -> Sequence[Delta]:
        """What can be emitted now."""
        pieces = pieces_of(self.piece, self.texts)
        self.piece, self.texts = continued(self.piece), []
        return pieces


class _Queued:
    """The texts of one lane that stand in the queue.

    Args:
        lane: The lane, which is measured from now on.
    """

    __slots__ = ("count", "lane", "open")

    def __init__(self, lane: Lane) -> None:
        lane.measure()
        self.lane = lane
        self.count = 0
        self.open: deque[_Text] = deque()  # without those before what is not decided

    def append(self, text: _Text) -> None:
        """Note a text that was put into the queue."""
        self.count += 1
        self.open.append(text)

    def take(self, text: _Text) -> None:
        """Forget a text that has left the queue."""
        self.count -= 1
        if self.open and self.open[0] is text:
            self.open.popleft()

    def next(self) -> _Text | None:
        """The text in which what is not decided starts; else the last one."""
        while len(self.open) > 1 and self.open[0].end <= self.lane.decided:
            self.open.popleft()
        return self.open[0] if self.open else None


class Places:
    """The queue, from the first event that has to wait to the last one.

    A piece costs the same, however many wait: each lane knows its own.

    Args:
        lane: The only one that holds text.
    """

    def __init__(self, lane: Lane) -> None:
        self._queue: deque[_Text | ChatEvent] = deque()
        self._events = 0  # in the queue, without the texts
        self._lanes: dict[Lane, _Queued] = {}
        self._append(self._measured(lane), continued(lane.last))

    @property
    def is_over(self) -> bool:
        """Whether no event waits any more."""
        if self._events:
            return False
        return sum(1 for each in self._lanes.values() if each.count) <= 1

    @property
    def lane(self) -> Lane | None:
        """Whose text is first, once no event waits."""
        first = self._queue[0] if self._queue else None
        return first.lane if isinstance(first, _Text) else None

    def events(self) -> list[ChatEvent]:
        """The events that wait, without the texts."""
        return [each for each in self._queue if not isinstance(each, _Text)]

    def wait(self, event: ChatEvent) -> None:
        """Put an event behind what waits."""
        self._events += 1
        self._queue.append(event)

    def feed(self, lane: Lane, piece: Delta) -> list[ChatEvent]:
        """Put a piece of text behind what waits; return what is ready."""
        queued = self._measured(lane)
        lane.last = piece
        spans = lane.feed_placed(text_of(piece))
        self._append(queued, piece)
        self._place(queued, spans)
        return list(self._ready())

    def flush(self, lanes: Iterable[Lane]) -> list[ChatEvent]:
        """Flush ``lanes``, and return all that waits."""
        for lane in lanes:
            queued = self._measured(lane)
            self._place(queued, lane.flush_placed())
            lane.decided = lane.fed
        return list(self._ready())

    def _measured(self, lane: Lane) -> _Queued:
        queued = self._lanes.get(lane)
        if queued is None:
            queued = self._lanes[lane] = _Queued(lane)
        return queued

    def _append(self, queued: _Queued, piece: Delta) -> _Text:
        place = _Text(lane=queued.lane, piece=piece, end=queued.lane.fed)
        queued.append(place)
        self._queue.append(place)
        return place

    def _place(self, queued: _Queued, spans: Iterable[Span]) -> None:
        """Put what came out of a lane where its input stands in the queue."""
        for span in spans:
            at, left = 0, span.width
            while span.is_kept and left > (room := self._room(queued)) > 0:
                self._put(queued, span.text[at : at + room], room)
                at, left = at + room, left - room
            self._put(queued, span.text[at:], left)

    def _room(self, queued: _Queued) -> int:
        """Characters from what is decided to the next border of the lane's pieces."""
        place = queued.next()
        return place.end - queued.lane.decided if place else 0

    def _put(self, queued: _Queued, text: str, width: int) -> None:
        place = queued.next()
        if place is None:  # more than what went in, such as a last word
            place = self._append(queued, continued(queued.lane.last))
        if text:
            place.texts.append(text)
        queued.lane.decided += width

    def _ready(self) -> Iterator[ChatEvent]:
        while self._queue:
            place = self._queue[0]
            if not isinstance(place, _Text):
                self._events -= 1
                yield place
            else:
                yield from place.taken()
                if place.end > place.lane.decided:
                    return
                self._lanes[place.lane].take(place)
            self._queue.popleft()
