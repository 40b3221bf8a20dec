"""The JSON of an answer, out of the events that deliver it."""

from __future__ import annotations

from collections.abc import Sequence

from rxagent.events import ChatEvent, Retracted, RoundFinished, TextDelta
from rxagent.guards import json_only

__all__ = ["GrowingText", "is_boundary"]

_OPEN, _CLOSE = "<think>", "</think>"


def is_boundary(event: ChatEvent) -> bool:
    """Whether what came before is no part of the answer."""
    return isinstance(event, RoundFinished | Retracted)


class GrowingText:
    """A transducer from the events of one model's answer to its JSON text."""

    def __init__(self) -> None:
        self._find = json_only()()
        self._thinks: bool | None = None  # as long as the first letters may be a tag
        self._held = ""

    def feed(self, event: ChatEvent, /) -> Sequence[str]:
        """Take an event; return the JSON text that it brings."""
        if not isinstance(event, TextDelta):
            return ()
        text = event.text
        if self._thinks is not False:
            text = self._behind_thoughts(self._held + text)
        return tuple(self._find.feed(text)) if text else ()

    def _behind_thoughts(self, text: str) -> str:
        """What is no thought; thoughts stand before an answer, and may draft it."""
        if self._thinks is None:
            text = text.lstrip()
            if not text.startswith(_OPEN):
                if _OPEN.startswith(text):
                    self._held = text
                    return ""
                self._thinks = False
                return text
            self._thinks = True
        _, closing, after = text.partition(_CLOSE)
        if not closing:
            self._held = text[-len(_CLOSE) :]
            return ""
        self._thinks = False
        return after
