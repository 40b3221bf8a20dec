from __future__ import annotations

from collections.abc import Sequence

from rxagent.guards._held_text import HeldText
from rxagent.guards._named_guard import NamedGuard
from rxagent.guards._text_guard import TextGuard


def by_line() -> TextGuard:
    r"""Deliver whole lines, each as one piece.

    ::

        --a--b--c--(F,|)                  a = "on", b = "e\ntw", c = "o"
        [ guard(by_line()) ]
        -----x-----(y,F,|)                x = "one\n", y = "two"

    A line ends with its ``\n``; an ``\r`` before it stays with it.

    Returns:
        A text guard.  The last line leaves at the end of the text; an error and a
        disposal drop it.
    """
    return NamedGuard(name="by_line", make=_Lines)


class _Lines:
    """Holds the line that is not ended.  Linear: no character is looked at twice."""

    __slots__ = ("_line",)

    def __init__(self) -> None:
        self._line = HeldText()

    @property
    def held(self) -> int:
        return self._line.length

    def feed(self, text: str, /) -> Sequence[str]:
        *ended, rest = text.split("\n")
        whole: list[str] = []
        for each in ended:
            self._line.add(f"{each}\n")
            whole += self._line.take()
        self._line.add(rest)
        return whole

    def flush(self) -> Sequence[str]:
        return self._line.take()
