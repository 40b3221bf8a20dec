"""Text word by word, each with the space before it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rxagent.tools.truncate import boundary

__all__ = ["Words", "estimated_tokens"]

_LONGEST = 40  # in characters, of a word and of the space before it
# Where scripts put no space between words, a word is one character.
_WIDE = "\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_WORD = re.compile(
    rf"\s{{0,{_LONGEST}}}+(?:[{_WIDE}]|[^\s{_WIDE}]{{1,{_LONGEST}}}+)|\s{{{_LONGEST}}}"
)


class Words:
    """Cuts text into words, the same ones however it comes.

    What is longer than any word is cut too, and never within what is read as one
    character.  Joined, the words are the text.
    """

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = ""

    @property
    def held(self) -> int:
        """How many characters wait for the end of their word."""
        return len(self._rest)

    def feed(self, text: str) -> Sequence[str]:
        """Take a piece; return the words that have ended."""
        text = self._rest + text
        words: list[str] = []
        start = 0
        while found := _WORD.match(text, start):
            end = found.end()
            while text[end : end + 1] not in ("", " ") and _is_within(text, start, end):
                end += 1
            if end == len(text):
                break
            words.append(text[start:end])
            start = end
        self._rest = text[start:]
        return words

    def flush(self) -> Sequence[str]:
        """Return the last word."""
        rest, self._rest = self._rest, ""
        return (rest,) if rest else ()


def _is_within(text: str, start: int, end: int) -> bool:
    """Whether a word that ends at ``end`` would end within a character."""
    length = end - start
    return boundary(text[start : end + 1], length) < length


def estimated_tokens(text: str) -> float:
    """A quarter of its bytes: near for most languages, and not exact for any."""
    return len(text.encode(errors="surrogatepass")) / 4
