from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rxagent.errors import ConfigurationError
from rxagent.guards._held_text import HeldText
from rxagent.guards._named_guard import NamedGuard
from rxagent.guards._text_guard import TextGuard


def by_chars(size: int) -> TextGuard:
    """Deliver pieces of ``size`` characters, however the text is cut.

    ::

        --a--b--(F,|)                     a = "abc", b = "de"
        [ guard(by_chars(2)) ]
        --x--y--(z,F,|)                   x = "ab", y = "cd", z = "e"

    Args:
        size: Of each piece but the last.

    Returns:
        A text guard.  The last piece leaves at the end of the text; an error and a
        disposal drop it.

    Raises:
        ConfigurationError: At the call, if ``size`` is less than 1.
    """
    if size < 1:
        raise ConfigurationError(f"by_chars takes 1 character or more, got {size}")
    return NamedGuard(name="by_chars", make=partial(_Pieces, size), settings=str(size))


class _Pieces:
    """Holds the piece that is not whole."""

    __slots__ = ("_piece", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._piece = HeldText()

    @property
    def held(self) -> int:
        return self._piece.length

    def feed(self, text: str, /) -> Sequence[str]:
        whole: list[str] = []
        start = 0
        while (room := self._size - self._piece.length) <= len(text) - start:
            self._piece.add(text[start : start + room])
            whole += self._piece.take()
            start += room
        self._piece.add(text[start:])
        return whole

    def flush(self) -> Sequence[str]:
        return self._piece.take()
