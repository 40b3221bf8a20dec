"""Text to words, as names of tools and their descriptions are written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

__all__ = ["words_of"]

_HAN, _KANA, _HANGUL = "\u3400-\u9fff\uf900-\ufaff", "\u3040-\u30ff", "\uac00-\ud7af"
_CJK = rf"[{_HAN}{_KANA}{_HANGUL}\U00020000-\U0003ffff]"
_RUN = re.compile(rf"(?P<cjk>{_CJK}+)|(?:(?!{_CJK})[^\W_])+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PLURAL = re.compile(r"(?<=[^\W\d_s]{3})s$")


def words_of(text: str) -> Iterator[str]:
    """Split a text into words that can be compared.

    ``snake_case``, ``kebab-case``, ``camelCase`` and ``HTTPServer`` are split.  Letter
    case, width and the s of a plural make no difference.  Chinese, Japanese and Korean
    have no spaces to go by, so they become overlapping pairs of characters; one alone
    stays as it is.

    Args:
        text: A name, a sentence.

    Yields:
        The words, in order.
    """
    for run in _RUN.finditer(unicodedata.normalize("NFKC", text)):
        letters = run[0]
        if run["cjk"] is None:
            for word in _HUMP.split(letters):
                yield _PLURAL.sub("", word.casefold())
        elif len(letters) == 1:
            yield letters
        else:
            yield from (one + two for one, two in pairwise(letters))
