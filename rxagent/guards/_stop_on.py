from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rxagent.errors import ConfigurationError
from rxagent.guards._named_guard import NamedGuard
from rxagent.guards._text_guard import TextGuard


def stop_on(*literals: str) -> TextGuard:
    """Deliver what comes before the first of some texts, and nothing from there on.

    ::

        --a--b--c--(F,|)                  a = "yes E", b = "ND o", c = "f it"
        [ guard(stop_on("END")) ]
        --x--------(F,|)                  x = "yes "

    No part of such a text is ever delivered, wherever it is cut; what may still become
    one is held.  The model's answer is read to its end, so the response, its usage and
    what a memory stores are whole; to pay for less, set ``ChatOptions.stop``.

    Args:
        literals: Looked for as they are.

    Returns:
        A text guard.

    Raises:
        ConfigurationError: At the call, if there is none, or an empty one.
    """
    if not literals or not all(literals):
        raise ConfigurationError(f"stop_on takes texts to stop on, got {literals!r}")
    return NamedGuard(
        name="stop_on",
        make=partial(_UntilFirst, literals),
        settings=", ".join(map(repr, literals)),
    )


class _UntilFirst:
    """Holds the text from the first place where one of the literals may begin."""

    __slots__ = ("_literals", "_rest", "is_done")

    def __init__(self, literals: Sequence[str]) -> None:
        self._literals = literals
        self._rest = ""
        self.is_done = False

    @property
    def held(self) -> int:
        return len(self._rest)

    def feed(self, text: str, /) -> Sequence[str]:
        if self.is_done:
            return ()
        text = self._rest + text
        found = self._first(text)
        cut = min(found, self._open(text))
        self.is_done = cut == found < len(text)
        self._rest = "" if self.is_done else text[cut:]
        return (text[:cut],) if cut else ()

    def flush(self) -> Sequence[str]:
        found = self._first(self._rest)
        rest, self._rest = self._rest[:found], ""
        return (rest,) if rest else ()

    def _first(self, text: str) -> int:
        """Where the first literal begins; the end of the text, if there is none."""
        found = (text.find(each) for each in self._literals)
        return min((place for place in found if place >= 0), default=len(text))

    def _open(self, text: str) -> int:
        """Where the first end of the text begins that may still become a literal."""
        return min(_open(text, each) for each in self._literals)


def _open(text: str, literal: str) -> int:
    start = max(0, len(text) - len(literal) + 1)
    while (place := text.find(literal[0], start)) >= 0:
        if literal.startswith(text[place:]):
            return place
        start = place + 1
    return len(text)
