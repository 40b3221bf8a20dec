"""Where sentences end, found while the text comes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Literal, TypeAlias

from rxagent.guards._held_text import HeldText

__all__ = ["Sentences"]

_Ending: TypeAlias = Literal["dot", "dots", "mark", "wide", "line"]

# These end a sentence without a space behind them; no address or number holds one.
_WIDE = frozenset("。！？｡؟۔।॥։።፧။៕។᠃᠉‼⁇⁈⁉")
_MARKS: dict[str, _Ending] = {
    **dict.fromkeys(_WIDE, "wide"),
    "!": "mark",
    "?": "mark",
    ".": "dot",
    "…": "dots",
    "‥": "dots",
    "\n": "line",
}
_MARK = re.compile(f"[{re.escape(''.join(_MARKS))}]")
_CLOSES = frozenset("\"'”’»›)]}）］｝」』】〉》〕〗\u00a0\u202f")  # in French, before »
# German quotes and Markdown; where no space is needed, they may open what follows.
_CLOSES_BEFORE_SPACE = _CLOSES.union("“‘«‹*_`~")
_GOES_ON = frozenset(",;:、，；：-–—").union(_MARKS)
_ZERO_WIDTH_JOINER = "\u200d"

_WORD = re.compile(r"[^\W_]+$")
_LOOK_BACK = 24  # characters; longer than any abbreviation
_BEFORE_WORDS = (
    "mr mrs ms mx dr prof rev hon st mt ft gen col sgt capt lt cmdr maj gov sen rep "
    "messrs vs cf viz approx al esp incl "  # English
    "hr fr ca bzw vgl ggf evtl inkl exkl sog dipl ing dhr mevr bijv "  # German, Dutch
    "mme mlle mm env sr sra srta dra ud uds dott sig avv "  # Romance languages
    "см ул им"  # Russian
)
_BEFORE_NUMBERS = (
    "no nos nr fig figs art abs pp vol ch chap sec eq bd kap pág núm tel "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
_ABBREVIATIONS = frozenset(_BEFORE_WORDS.split())
_OF_NUMBERS = frozenset(_BEFORE_NUMBERS.split())


class Sentences:
    """Holds the sentence that is not ended.

    Linear: outside of endings a search runs over the text; an ending is read character
    by character, once.

    Args:
        abbreviations: More of them, folded, without their last dot.
    """

    __slots__ = ("_before", "_ending", "_more", "_sentence", "_spaced", "_tail")

    def __init__(self, *, abbreviations: Collection[str]) -> None:
        self._more = abbreviations
        self._sentence = HeldText()
        self._tail = ""  # the end of what is held
        self._ending: _Ending | None = None  # the marks that were read last
        self._before = ""  # the text before them
        self._spaced = False  # there was space behind them

    @property
    def held(self) -> int:
        """How many characters wait."""
        return self._sentence.length

    def feed(self, text: str, /) -> Sequence[str]:
        """Take a piece; return the sentences that have ended."""
        whole: list[str] = []
        start = at = 0
        while at < len(text):
            if self._ending is None:
                mark = _MARK.search(text, at)
                if mark is None:
                    break
                at = mark.start()
                self._open(mark[0], before=text[start:at])
            elif not self._belongs(text[at], self._ending):
                ended = self._has_ended(text[at], self._ending)
                self._ending = None
                if ended:
                    self._sentence.add(text[start:at])
                    whole += self._sentence.take()
                    self._tail, start = "", at
                continue
            at += 1
        self._hold(text[start:])
        return whole

    def flush(self) -> Sequence[str]:
        """Return what is held: the end of the text ends it."""
        return self._sentence.take()

    def _hold(self, text: str) -> None:
        self._sentence.add(text)
        self._tail = (self._tail + text[-_LOOK_BACK:])[-_LOOK_BACK:]

    def _open(self, mark: str, *, before: str) -> None:
        self._ending = _MARKS[mark]
        self._spaced = self._ending == "line"
        if self._ending == "dot":
            self._before = (self._tail + before[-_LOOK_BACK:])[-_LOOK_BACK:]

    def _belongs(self, char: str, ending: _Ending) -> bool:
        """Whether ``char`` belongs to the ending that is being read; then note it."""
        if char == "\n":
            self._ending, self._spaced = "line", True
        elif _extends(char):
            pass
        elif self._spaced:
            # In French it closes behind a space; where it opens, two leave as one.
            self._spaced = char != "»" or ending == "line"
            return char.isspace() or not self._spaced
        elif char in _MARKS:
            self._ending = _both(ending, _MARKS[char])
        elif char not in (_CLOSES if ending == "wide" else _CLOSES_BEFORE_SPACE):
            self._spaced = char.isspace()
            return self._spaced
        return True

    def _has_ended(self, following: str, ending: _Ending) -> bool:
        if ending == "line":
            return True
        if following in _GOES_ON or ending == "dots":
            return False
        if not self._spaced and ending != "wide" and not _is_wide(following):
            return False  # 3.14, example.com, ?q=1
        return ending != "dot" or not self._dot_is_of_a_word(following)

    def _dot_is_of_a_word(self, following: str) -> bool:
        if following.islower():
            return True
        if self._before.strip(" \t#>*_(-").isdecimal():
            return len(self._before) < _LOOK_BACK  # the number of a list's item
        found = _WORD.search(self._before)
        if found is None:
            return False
        word = found[0].casefold()
        if len(word) == 1 and word != word.upper():
            return True  # an initial, or the end of e.g.
        if word in _OF_NUMBERS:
            return following.isdecimal()
        return word in _ABBREVIATIONS or word in self._more


def _both(ending: _Ending, mark: _Ending) -> _Ending:
    """What marks in a row are together."""
    if "wide" in (ending, mark):
        return "wide"
    return "mark" if "mark" in (ending, mark) else "dots"


def _is_wide(char: str) -> bool:
    """Whether it is of a script that puts no space between words; emoji are not."""
    is_wide = unicodedata.east_asian_width(char) in ("W", "F")
    return is_wide and unicodedata.category(char)[0] in "LNP"


def _extends(char: str) -> bool:
    """Whether it is read as one with the character before it."""
    return char == _ZERO_WIDTH_JOINER or unicodedata.category(char)[0] == "M"
