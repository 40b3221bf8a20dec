"""Where a text is cut: at ends of sentences, else between words, else anywhere."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TypeAlias

from rxagent.errors import ConfigurationError
from rxagent.guards import by_sentence
from rxagent.tools.rules import check_count

__all__ = ["Span", "check_sizes", "sentence_spans", "window_spans"]

Span: TypeAlias = tuple[int, int]
"""Where a piece starts, and where it ends; in characters, or in other pieces."""

_SPACE = re.compile(r"\s+")
_JOINERS = "\u200c\u200d"


def check_sizes(*, size: int, overlap: int) -> None:
    """Refuse sizes with which no text could be split.

    Raises:
        ConfigurationError: If ``size`` is less than 1, or ``overlap`` is not between 0
            and less than that.
    """
    check_count("size", size, least=1)
    check_count("overlap", overlap, least=0)
    if overlap >= size:
        raise ConfigurationError(
            f"overlap must be less than size, which is {size}, got {overlap}: a chunk "
            "would have nothing new in it"
        )


def window_spans(count: int, *, size: int, overlap: int) -> Iterator[Span]:
    """Spans of ``size`` pieces, each ``size - overlap`` behind the one before.

    Args:
        count: Of all pieces.
        size: Of a span, but for the last one.
        overlap: How many pieces a span shares with the one before.
    """
    start = 0
    while start + size < count:
        yield start, start + size
        start += size - overlap
    if count:
        yield start, count


def sentence_spans(text: str, *, size: int, overlap: int) -> Iterator[Span]:
    """Spans of whole sentences, as many as fit.

    Args:
        text: Any.
        size: Most characters of a span; a longer sentence is cut between words, and a
            longer word between letters.
        overlap: Most characters that a span shares with the one before.
    """
    pieces = by_sentence()()
    sentences = [*accumulate(map(len, (*pieces.feed(text), *pieces.flush())))]
    words = [found.end() for found in _SPACE.finditer(text)]
    start = end = 0
    while end < len(text):
        end = _end(text, start, end, start + size, (sentences, words))
        yield start, end
        if end < len(text):
            start = _start(text, start, end, size, overlap, (sentences, words))


def _end(
    text: str, start: int, last: int, most: int, cuts: Iterable[Sequence[int]]
) -> int:
    """The best end behind ``last``, which is where the span before has ended."""
    if most >= len(text):
        return len(text)
    for places in cuts:
        place = bisect_right(places, most) - 1
        if place >= 0 and places[place] > max(start, last):
            return places[place]
    return _between_letters(text, most, least=max(start, last) + 1)


def _start(
    text: str,
    before: int,
    end: int,
    size: int,
    overlap: int,
    cuts: tuple[Sequence[int], Sequence[int]],
) -> int:
    """The best start of the next span, not so early that its first sentence is cut."""
    sentences, words = cuts
    least = max(end - overlap, before + 1)
    following = sentences[bisect_right(sentences, end)]
    is_cut = following - end > size
    for places in (sentences, words):
        for place in places[bisect_left(places, least) : bisect_left(places, end)]:
            if is_cut or following - place <= size:
                return place
    if is_cut or following - least <= size:
        # Not before it: the overlap is the most that may be shared.
        return next((at for at in range(least, end) if _is_between(text, at)), end)
    return end


def _between_letters(text: str, place: int, *, least: int) -> int:
    """A place at ``place`` or before it that takes no letter apart."""
    return next((at for at in range(place, least, -1) if _is_between(text, at)), place)


def _is_between(text: str, place: int) -> bool:
    """Whether a cut before the character at ``place`` takes no letter apart."""
    is_mark = unicodedata.category(text[place])[0] == "M" or text[place] in _JOINERS
    return not is_mark and text[place - 1] not in _JOINERS
