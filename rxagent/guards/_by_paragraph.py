from __future__ import annotations

from collections.abc import Sequence

from rxagent.guards._held_text import HeldText
from rxagent.guards._named_guard import NamedGuard
from rxagent.guards._text_guard import TextGuard


def by_paragraph() -> TextGuard:
    r"""Deliver whole paragraphs, each as one piece.

    ::

        --a--b--c--(F,|)                  a = "One.\n", b = "Also.\n\nT", c = "wo."
        [ guard(by_paragraph()) ]
        -----x-----(y,F,|)                x = "One.\nAlso.\n\n", y = "Two."

    A paragraph ends with the first blank line behind it, which may hold spaces.  More
    blank lines stay with the paragraph that follows them.

    Returns:
        A text guard.  The last paragraph leaves at the end of the text; an error and a
        disposal drop it.
    """
    return NamedGuard(name="by_paragraph", make=_Paragraphs)


class _Paragraphs:
    """Holds the paragraph that is not ended.  Linear: each line is looked at once."""

    __slots__ = ("_has_text", "_is_blank", "_paragraph")

    def __init__(self) -> None:
        self._paragraph = HeldText()
        self._has_text = False  # the paragraph, in a line that is ended
        self._is_blank = True  # the line that is not

    @property
    def held(self) -> int:
        return self._paragraph.length

    def feed(self, text: str, /) -> Sequence[str]:
        *ended, rest = text.split("\n")
        whole: list[str] = []
        for each in ended:
            self._add(f"{each}\n")
            if not self._is_blank:
                self._has_text = True
            elif self._has_text:
                whole += self._paragraph.take()
                self._has_text = False
            self._is_blank = True
        self._add(rest)
        return whole

    def flush(self) -> Sequence[str]:
        return self._paragraph.take()

    def _add(self, text: str) -> None:
        self._paragraph.add(text)
        self._is_blank = self._is_blank and (not text or text.isspace())
