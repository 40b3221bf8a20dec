"""Text as a reader takes it, letter for letter.

A model reads past what is invisible, and takes a sign of another script or width for
the one that it looks like.  So what must not stand in a text is looked for in this one.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["LINE_ENDS", "UNSEEN", "escaped", "legible"]

LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""What ends a line for a reader; for `re` most do not."""

UNSEEN = "\0"
"""Stands where nothing is seen."""

_UNSEEN_KINDS = frozenset({"Cc", "Cf", "Cn", "Mn", "Me"})
_UNSEEN_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"  # fillers, and a cell without dots
# What Unicode's compatibility forms leave as it is, by the looks.
_ALIKE = {
    "-": "\u02d7\u2043\u2212\u2500\u2501\u2504\u2505\u2508\u2509\u254c\u254d\u2574"
    "\u2576\u2578\u257a\u23af\u23e4\u2796\u2cba\u30fc\u4e00\u1173\u3161\u31d0\ua7f7",
    "<": "\u02c2\u1438\u16b2\u2039\u2329\u276e\u27e8\u3008",
    "/": "\u1735\u2041\u2044\u2215\u2571\u27cb\u29f8\u3033\u31d3",
}
_SIGNS = {each: sign for sign, alike in _ALIKE.items() for each in alike}


def legible(text: str) -> str:
    """Return what a text reads as, of the same length.

    Args:
        text: Anything.

    Returns:
        A character for each: the ends of lines as they are, other space as a space,
        what is not seen as ``UNSEEN``, and a letter or a sign in its plainest form.

    Source: the compatibility forms of Unicode Standard Annex #15; for signs the table
    of look-alikes of Unicode Technical Standard #39.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    # By distinct characters: a text has many, and few kinds.
    return text.translate({ord(each): _read(each) for each in set(text)})


def escaped(text: str, unwanted: re.Pattern[str], sign: str, *, of: int = 0) -> str:
    """A text in which nothing reads as what is not wanted there.

    Args:
        text: Anything.
        unwanted: Looked for in what the text reads as.
        sign: Written where each of it starts.
        of: How many of its characters the sign stands for.
    """
    pieces, start = list[str](), 0
    for found in unwanted.finditer(legible(text)):
        pieces += text[start : found.start()], sign
        start = found.start() + of
    return "".join((*pieces, text[start:]))


def _read(character: str) -> str:
    if character in LINE_ENDS:
        return character
    if character.isspace():
        return " "
    if unicodedata.category(character) in _UNSEEN_KINDS or character in _UNSEEN_LETTERS:
        return UNSEEN
    if unicodedata.category(character) == "Pd":  # dashes of every length
        return "-"
    plain = unicodedata.normalize("NFKC", character)
    plain = plain if len(plain) == 1 else character
    return _SIGNS.get(plain, plain)
