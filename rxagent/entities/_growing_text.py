"""The JSON of an answer, out of the events that deliver it."""

from __future__ import annotations

from collections.abc import Sequence

from rxagent.events import ChatEvent, Retracted, RoundFinished, TextDelta
from rxagent.guards import json_only

__all__ = ["GrowingText", "is_boundary"]


def is_boundary(event: ChatEvent) -> bool:
    """Whether what came before is no part of the answer."""
    return isinstance(event, RoundFinished | Retracted)


class GrowingText:
    """A transducer from the events of one model's answer to its JSON text."""

    def __init__(self) -> None:
        self._find = json_only()()

    def feed(self, event: ChatEvent, /) -> Sequence[str]:
        """Take an event; return the JSON text that it brings."""
        if not isinstance(event, TextDelta):
            return ()
        return tuple(self._find.feed(event.text))
