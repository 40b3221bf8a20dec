"""A text guard, lifted onto events: the text goes through it, and all keeps its place.

Each text of a model's answer has a lane of its own.  As long as nothing but that text
comes, pieces go straight through.  Where an event comes while text before it is held,
both wait in a queue, and each piece of text comes out where it went in.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rxagent.errors import GuardError
from rxagent.events import (
    ChatEvent,
    Delta,
    Finished,
    ReasoningDelta,
    Retracted,
    RoundFinished,
    TextDelta,
    ToolCallDelta,
)
from rxagent.guards._lane import Lane
from rxagent.guards._pieces import continued, pieces_of, text_delta
from rxagent.guards._places import Places
from rxagent.guards._text_guard import Channel, TextGuard

__all__ = ["TextLift"]

_CHANNELS: dict[type, Channel] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    ToolCallDelta: "tool_arguments",
}


class TextLift:
    """One text guard over the events of one subscription.

    Args:
        make: Makes a transducer for each text of each model's answer.
        name: Of the guard; for errors.
        channels: Which texts go through it.
    """

    def __init__(
        self, make: TextGuard, *, name: str, channels: Collection[Channel]
    ) -> None:
        self._make = make
        self._name = name
        self._kinds = {kind for kind, each in _CHANNELS.items() if each in channels}
        self._lanes: dict[type | int, Lane] = {}
        self._open: Lane | None = None  # the only one that holds text, if one does
        self._places: Places | None = None  # what waits, if an event does

    def feed(self, event: ChatEvent, /) -> Sequence[ChatEvent]:
        """Take an event; return what is ready."""
        lane = self._open
        try:
            if isinstance(event, TextDelta) and lane is not None and lane.is_text:
                # The usual case, written out.
                lane.last = event
                texts = lane.feed(event.text)
                if isinstance(texts, tuple) and len(texts) == 1:
                    (text,) = texts
                    same = text == event.text
                    return (event if same else text_delta(text, event.origin),)
                return pieces_of(event, texts) if texts else ()
            if type(event) not in self._kinds:
                return self._pass(event)
            if isinstance(event, ToolCallDelta):
                return self._guard(event.index, event, event.arguments)
            if isinstance(event, TextDelta | ReasoningDelta):
                return self._guard(type(event), event, event.text)
        except GuardError:
            raise
        except Exception as error:
            raise self._blamed(error) from error
        return (event,)

    def flush(self) -> Sequence[ChatEvent]:
        """Flush each text; what comes next belongs to another answer."""
        lanes, places = tuple(self._lanes.values()), self._places
        self._reset()
        try:
            if places is not None:
                return places.flush(lanes)
            return [
                piece
                for lane in lanes
                for piece in pieces_of(continued(lane.last), lane.flush())
            ]
        except GuardError:
            raise
        except Exception as error:
            raise self._blamed(error) from error

    def _guard(self, key: type | int, piece: Delta, text: str) -> Sequence[ChatEvent]:
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(self._make(), piece)
        if lane is self._open or not self._must_wait():
            self._open = lane
            return self._fed(lane, piece, text)
        places = self._wait()
        ready = places.feed(lane, piece)
        if places.is_over:
            self._open, self._places = places.lane, None
        return ready

    @staticmethod
    def _fed(lane: Lane, piece: Delta, text: str) -> Sequence[ChatEvent]:
        lane.last = piece
        return pieces_of(piece, lane.feed(text))

    def _pass(self, event: ChatEvent) -> Sequence[ChatEvent]:
        """Do with an event what is to be done if its text is not guarded."""
        if isinstance(event, RoundFinished | Finished):
            return (*self.flush(), event)
        if isinstance(event, Retracted):
            waiting = self._places.events() if self._places else ()
            self._reset()
            return (*waiting, event)
        if not self._must_wait():
            return (event,)
        self._wait().wait(event)
        return ()

    def _must_wait(self) -> bool:
        """Whether text is held that comes before what comes now."""
        if self._places is not None:
            return True
        return self._open is not None and self._open.held > 0

    def _wait(self) -> Places:
        if self._places is None:
            assert self._open is not None
            self._places, self._open = Places(self._open), None
        return self._places

    def _reset(self) -> None:
        self._lanes, self._open, self._places = {}, None, None

    def _blamed(self, error: Exception) -> GuardError:
        # Its words are not repeated: they may hold what is to be kept in.
        return GuardError(self._name, f"failed with {type(error).__name__}")
