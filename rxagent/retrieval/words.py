"""The words of a text, so that Chinese, Japanese and Korean are found as well.

These scripts have words of one or two letters and few or no spaces.  A run of them is
taken apart into its letters and into pairs of neighbours; a query for more than one
letter looks for the pairs alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["query_words", "words_of"]

_WIDE = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_RUNS = re.compile(f"(?P<wide>[{_WIDE}]+)|[^\\W_{_WIDE}]+")


def words_of(text: str) -> Iterator[str]:
    """The words that a text is found by.

    Args:
        text: Any; case, width and composition do not count.

    Yields:
        Words without spaces or signs, as often as they occur.
    """
    for run in _runs(text):
        if run.lastgroup is None:
            yield run[0]
        else:
            yield from run[0]
            yield from _pairs(run[0])


def query_words(text: str) -> tuple[str, ...]:
    """The words to look for, each once, in their order."""
    found: dict[str, None] = {}
    for run in _runs(text):
        is_pairs = run.lastgroup is not None and len(run[0]) > 1
        found.update(dict.fromkeys(_pairs(run[0]) if is_pairs else (run[0],)))
    return tuple(found)


def _runs(text: str) -> Iterator[re.Match[str]]:
    return _RUNS.finditer(unicodedata.normalize("NFKC", text).casefold())


def _pairs(run: str) -> Iterator[str]:
    return (run[at : at + 2] for at in range(len(run) - 1))
