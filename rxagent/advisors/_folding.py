"""Text reduced to what a reader takes it for, so that disguise hides no word.

A letter is read the same whatever its case, width and style; invisible characters are
not there; a letter of another script that looks Latin is that letter.  No locale is
involved.  The text is folded, and a word becomes a pattern: only so can what looks like
``ǀ`` be an i in one word and an l in another.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rxagent.advisors._look_alikes import ALIKE, MARKED

__all__ = ["Words"]

_Letters: TypeAlias = list[tuple[str, ...]]
"""Of a word: what each may be folded to."""

_NOTHING = frozenset({"Cc", "Cf"})
# What is invisible and no format character: fillers, joiners, variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
_MARKS = (
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
_DECORATION = re.compile(_MARKS)
_ACCENTS = re.compile(f"(?<=[a-z0-9ǀ]){_MARKS}")
_SPACES = re.compile(" {2,}")
_SPACED_OUT = re.compile(r"(?<![^\W_])[^\W_](?:[\W_]{1,3}[^\W_])+(?![^\W_])")
_BETWEEN_LETTERS = re.compile(r"[\W_]+")
_BLANK = (" ",)
_UNSURE = {ord("i"): "[iǀ|]", ord("l"): "[lǀ|]"}


class Words:
    """Words that are looked for anywhere in a text, also inside longer words.

    Args:
        words: Blank ones are ignored.
        look_alikes: Read letters of other scripts, and letters with an accent or a
            stroke, as the Latin ones that they look like.  A word that is itself
            written with an accent is found with that accent only.

    Source: Unicode Technical Standard #39, section 4; for accents the asymmetric search
    of Unicode Technical Standard #10, section 8.2.
    """

    def __init__(self, words: Iterable[str], *, look_alikes: bool) -> None:
        self._look_alikes = look_alikes
        bare: list[_Letters] = []
        spelled: list[_Letters] = []
        for word in words:
            letters = self._letters(word, bare=False)
            is_bare = look_alikes and letters == self._letters(word, bare=True)
            if letters:
                (bare if is_bare else spelled).append(letters)
        self._count = len(bare) + len(spelled)
        self._finders = [
            _Finder(found, bare=found is bare) for found in (bare, spelled) if found
        ]

    def __len__(self) -> int:
        return self._count

    def are_in(self, text: str) -> bool:
        """Whether any of the words is in ``text``."""
        return any(
            finder.finds(self._folded(text, bare=finder.bare))
            for finder in self._finders
        )

    def _letters(self, word: str, *, bare: bool) -> _Letters:
        letters: _Letters = []
        for letter in unicodedata.normalize("NFC", " ".join(word.split())):
            cases = (letter, letter.lower(), letter.upper(), letter.casefold())
            found = {self._folded(each, bare=bare) for each in cases} - {""}
            if found:
                letters.append(tuple(sorted(found)))
        while letters and _BLANK in (letters[0], letters[-1]):
            del letters[0 if letters[0] == _BLANK else -1]
        return letters

    def _folded(self, text: str, *, bare: bool) -> str:
        text = unicodedata.normalize("NFKD", text)
        # By distinct characters: a text has many, and few kinds.
        text = text.translate({ord(each): self._read(each, bare) for each in set(text)})
        if bare:
            text = _ACCENTS.sub("", text)
        text = unicodedata.normalize("NFC", text)
        return _SPACES.sub(" ", _DECORATION.sub("", text))

    def _read(self, character: str, bare: bool) -> str:
        if character.isspace():
            return " "
        if unicodedata.category(character) in _NOTHING or _INVISIBLE.match(character):
            return ""
        if character == "ı":  # no case folding makes it an i, and I is its capital
            return "i"
        folded = character.casefold()
        if character.isascii() or not self._look_alikes:
            return folded
        for each in (character, folded):
            if each in ALIKE:
                return ALIKE[each]
            if bare and each in MARKED:
                return MARKED[each]
        return folded


class _Finder:
    """Finds any of some words in folded text.

    Args:
        words: Not none.
        bare: Whether the text has to be folded without accents.
    """

    def __init__(self, words: Sequence[_Letters], *, bare: bool) -> None:
        self.bare = bare
        self._words = re.compile("|".join(map(_pattern, words)))
        joined = ([each for each in word if each != _BLANK] for word in words)
        self._joined_words = re.compile("|".join(map(_pattern, joined)))

    def finds(self, text: str) -> bool:
        """Whether a word is in ``text``, be it s p a c e d   o u t."""
        if self._words.search(text):
            return True
        runs = (_BETWEEN_LETTERS.sub("", run) for run in _SPACED_OUT.findall(text))
        return any(map(self._joined_words.search, runs))


def _pattern(word: Iterable[tuple[str, ...]]) -> str:
    found = list[str]()
    for options in word:
        each = "|".join(re.escape(option).translate(_UNSURE) for option in options)
        found.append(each if len(options) == 1 else f"(?:{each})")
    return "".join(found)
