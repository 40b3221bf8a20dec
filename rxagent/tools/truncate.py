"""Cutting a long tool result, so that it does not fill the model's window."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from rxagent.messages import Text, UserPart

__all__ = ["boundary", "truncate"]

_NOTES = (
    "\n[truncated: {} of {} characters omitted]",
    "[truncated: {} of {}]",
    "[{} cut]",
    "…",
)
_ZERO_WIDTH_JOINER = "\u200d"
_LONGEST_CLUSTER = 32  # in characters; longer runs of marks are cut where they are


def truncate(parts: Sequence[UserPart], max_chars: int) -> tuple[UserPart, ...]:
    """Cut the texts of ``parts`` to ``max_chars`` in all.

    The end is cut, and a last line says how much: ``[truncated: 4998062 of 5000001
    characters omitted]``, in fewer words where there is less room.  Pictures and other
    media are kept.

    Args:
        parts: Whole.
        max_chars: Longest text of all parts together, in characters, with that line; at
            least 1.

    Returns:
        The parts as they are, if they fit.
    """
    total = sum(len(part.text) for part in parts if isinstance(part, Text))
    if total <= max_chars:
        return tuple(parts)
    lengths = {form: len(form.format(total, total)) for form in _NOTES}
    note = next(form for form in _NOTES if lengths[form] <= max_chars)
    return tuple(_cut(parts, total, note=note, room=max_chars - lengths[note]))


def boundary(text: str, at: int) -> int:
    """Return the last place at or before ``at`` where ``text`` may be cut.

    Not inside what is read as one character: a letter and its combining marks, emoji
    joined or coloured, a flag, CR and LF.

    Source: Unicode UAX 29, rules GB3 and GB9 to GB13; Hangul jamo are not joined.
    """
    for place in range(at, max(at - _LONGEST_CLUSTER, -1), -1):
        if not _joined(text, place):
            return place
    return at


def _cut(
    parts: Sequence[UserPart], total: int, *, note: str, room: int
) -> Iterator[UserPart]:
    kept, cut = 0, False
    for part in parts:
        if not isinstance(part, Text):
            yield part
        elif not cut:
            cut = kept + len(part.text) > room
            text = part.text[: boundary(part.text, room - kept)] if cut else part.text
            kept += len(text)
            if cut:
                text += note.format(total - kept, total)
            yield part if not cut else Text(text=text)


def _joined(text: str, at: int) -> bool:
    """Whether the characters before and after ``at`` belong together."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if before == "\r" and after == "\n":
        return True
    if _ZERO_WIDTH_JOINER in {before, after} or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, at) % 2 == 1
    return unicodedata.category(after) in {"Mn", "Mc", "Me"}


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int) -> int:
    start = at
    while start and _is_flag_letter(text[start - 1]):
        start -= 1
    return at - start
