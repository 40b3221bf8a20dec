"""Where texts and events stand that wait for a guard to decide.

A queue: each text comes out where it went in, and each event after the text before it.
A text that stands for others, as a replacement does, comes out where they start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rxagent.events import ChatEvent
from rxagent.guards._lane import Lane
from rxagent.guards._pieces import Piece, continued, pieces_of, text_of
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
    piece: Piece
    end: int
    texts: list[str] = field(default_factory=list[str])

    def taken(self) -> Sequence[Piece]:
        """What can be emitted now."""
        pieces = pieces_of(self.piece, self.texts)
        self.piece, self.texts = continued(self.piece), []
        return pieces


class Places:
    """The queue, from the first event that has to wait to the last one.

    Args:
        lane: The only one that holds text.
    """

    def __init__(self, lane: Lane) -> None:
        lane.measure()
        self._lanes = [lane]  # that are measured
        self._queue: deque[_Text | ChatEvent] = deque()
        self._append(lane, continued(lane.last))

    @property
    def is_over(self) -> bool:
        """Whether no event waits any more."""
        return not any(not isinstance(each, _Text) for each in self._queue) and (
            len({id(each.lane) for each in self._texts()}) <= 1
        )

    @property
    def lane(self) -> Lane | None:
        """Whose text is first."""
        return next((each.lane for each in self._texts()), None)

    def events(self) -> list[ChatEvent]:
        """The events that wait, without the texts."""
        return [each for each in self._queue if not isinstance(each, _Text)]

    def wait(self, event: ChatEvent) -> None:
        """Put an event behind what waits."""
        self._queue.append(event)

    def feed(self, lane: Lane, piece: Piece) -> list[ChatEvent]:
        """Put a piece of text behind what waits; return what is ready."""
        self._measure(lane)
        lane.last = piece
        spans = lane.feed_placed(text_of(piece))
        self._append(lane, piece)
        self._place(lane, spans)
        return list(self._ready())

    def flush(self, lanes: Iterable[Lane]) -> list[ChatEvent]:
        """Flush ``lanes``, and return all that waits."""
        for lane in lanes:
            self._measure(lane)
            self._place(lane, lane.flush_placed())
            lane.decided = lane.fed
        return list(self._ready())

    def _texts(self) -> Iterator[_Text]:
        return (each for each in self._queue if isinstance(each, _Text))

    def _measure(self, lane: Lane) -> None:
        if lane not in self._lanes:
            lane.measure()
            self._lanes.append(lane)

    def _append(self, lane: Lane, piece: Piece) -> _Text:
        place = _Text(lane=lane, piece=piece, end=lane.fed)
        self._queue.append(place)
        return place

    def _place(self, lane: Lane, spans: Iterable[Span]) -> None:
        """Put what came out of a lane where its input stands in the queue."""
        for span in spans:
            left = span
            while left.is_kept and left.width > (room := self._room(lane)) > 0:
                self._put(lane, left.text[:room], room)
                left = Span(left.text[room:], left.width - room, is_kept=True)
            self._put(lane, left.text, left.width)

    def _room(self, lane: Lane) -> int:
        """Characters from what is decided to the next border of the lane's pieces."""
        place = self._next(lane)
        return place.end - lane.decided if place else 0

    def _put(self, lane: Lane, text: str, width: int) -> None:
        place = self._next(lane)
        if place is None:  # more than what went in, such as a last word
            place = self._append(lane, continued(lane.last))
        if text:
            place.texts.append(text)
        lane.decided += width

    def _next(self, lane: Lane) -> _Text | None:
        """The piece of a lane in which what is not decided starts."""
        mine = [each for each in self._texts() if each.lane is lane]
        open_ = (each for each in mine if each.end > lane.decided)
        return next(open_, mine[-1] if mine else None)

    def _ready(self) -> Iterator[ChatEvent]:
        while self._queue:
            place = self._queue[0]
            if not isinstance(place, _Text):
                yield place
            else:
                yield from place.taken()
                if place.end > place.lane.decided:
                    return
            self._queue.popleft()
