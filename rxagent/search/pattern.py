"""Patterns that a model writes, matched in time that no pattern can stretch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from string import ascii_lowercase, digits, printable

__all__ = ["Pattern"]

_START, _END = "\x02", "\x03"  # around a text, for ^ and $
_ANY = frozenset(printable.lower())
_WORD, _DIGIT = frozenset(ascii_lowercase + digits + "_"), frozenset(digits)
_SPACE = frozenset(" \t\n\r\f\v")
_CLASSES: Mapping[str, frozenset[str]] = {
    "w": _WORD,
    "d": _DIGIT,
    "s": _SPACE,
    "W": _ANY - _WORD,
    "D": _ANY - _DIGIT,
    "S": _ANY - _SPACE,
}
_TIMES = re.compile(r"\{(\d{1,2})(,(\d{0,2}))?\}")
_MOST_ATOMS = 400


class Pattern:
    r"""A regular expression for short ASCII texts, found anywhere in them.

    It has sets, groups, ``|``, ``*``, ``+``, ``?``, ``{n,m}``, ``^``, ``$``, ``\w``,
    ``\d``, ``\s`` and their opposites.  Letter case makes no difference.  All ways to
    match are followed at once, one character after the other, so a text costs its
    length times that of the pattern, and nothing ever backtracks.

    Args:
        text: The expression.

    Raises:
        ValueError: If it is none, has something else, or has too many repetitions.

    Source:
        V. M. Glushkov, The abstract theory of automata, 1961: a state for each
        character of the expression.
    """

    def __init__(self, text: str) -> None:
        if not text.isascii():
            raise ValueError("it is not ASCII")
        self._text = text.lower()
        self._original = text  # \W is not \w
        self._at = 0
        self._read = 0  # atoms, those that are read again included
        self._takes: list[frozenset[str]] = []
        self._follow: list[int] = []
        self._whole = self._choice()
        if self._at < len(text):
            raise ValueError(f"{text[self._at]!r} has no place at {self._at}")
        self._by_character: dict[str, int] = {}
        for place, characters in enumerate(self._takes):
            for each in characters:
                self._by_character[each] = self._by_character.get(each, 0) | 1 << place

    def is_in(self, text: str) -> bool:
        """Whether some part of ``text`` matches."""
        if self._whole.may_be_empty:
            return True
        places = 0
        for character in f"{_START}{text.lower()}{_END}":
            reached = self._whole.first
            for place in _bits(places):
                reached |= self._follow[place]
            places = reached & self._by_character.get(character, 0)
            if places & self._whole.last:
                return True
        return False

    def _choice(self) -> _Part:
        part = self._sequence()
        while self._skip("|"):
            other = self._sequence()
            part = _Part(
                may_be_empty=part.may_be_empty or other.may_be_empty,
                first=part.first | other.first,
                last=part.last | other.last,
            )
        return part

    def _sequence(self) -> _Part:
        part = _NOTHING
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            part = self._joined(part, self._repeated())
        return part

    def _repeated(self) -> _Part:
        start = self._at
        part = self._atom()
        if self._skip("?"):
            part = part.optional()
        elif self._skip("*"):
            part = self._joined(part, part).optional()
        elif self._skip("+"):
            part = self._joined(part, part)
        elif times := _TIMES.match(self._text, self._at):
            part = self._times(start, part, times)
        else:
            return part
        self._skip("?")  # the shortest match is as good as any
        return part

    def _times(self, start: int, part: _Part, times: re.Match[str]) -> _Part:
        """Repeat what begins at ``start`` by reading it as often as it may be there."""
        least = int(times[1])
        has_most = not times[2] or times[3]
        most = int(times[3] or least) if has_most else max(least, 1)
        copies = [part]
        while len(copies) < most:
            self._at = start
            copies.append(self._atom())
        self._at = times.end()
        if not has_most:
            copies[-1] = self._joined(copies[-1], copies[-1])
        whole = _NOTHING
        for number, copy in enumerate(copies[:most]):
            whole = self._joined(whole, copy.optional() if number >= least else copy)
        return whole

    def _atom(self) -> _Part:
        self._read += 1
        if self._read > _MOST_ATOMS:
            raise ValueError("it has too many repetitions")
        character = self._text[self._at]
        if self._skip("("):
            if self._skip("?") and not self._skip(":"):
                raise ValueError("(? begins what is not understood")
            part = self._choice()
            if not self._skip(")"):
                raise ValueError("a group has no end")
            return part
        if character in "*+?{":
            raise ValueError(f"{character!r} repeats nothing")
        self._at += 1
        match character:
            case ".":
                return self._place(_ANY)
            case "^":
                return self._place({_START})
            case "$":
                return self._place({_END})
            case "[":
                return self._place(self._set())
            case "\\":
                return self._place(self._escaped())
            case _:
                return self._place({character})

    def _set(self) -> frozenset[str]:
        excludes = self._skip("^")
        found: frozenset[str] = frozenset()
        is_first = True
        while is_first or not self._skip("]"):
            is_first = False
            low = self._member()
            is_range = self._text[self._at : self._at + 1] == "-"
            if is_range and self._text[self._at + 1 : self._at + 2] != "]":
                self._at += 1
                found |= _between(low, self._member())
            else:
                found |= low
        return _ANY - found if excludes else found

    def _member(self) -> frozenset[str]:
        if self._at >= len(self._text):
            raise ValueError("a set has no end")
        character = self._text[self._at]
        self._at += 1
        return self._escaped() if character == "\\" else frozenset(character)

    def _escaped(self) -> frozenset[str]:
        character = self._original[self._at : self._at + 1]
        self._at += 1
        if character in _CLASSES:
            return _CLASSES[character]
        if not character or character.isalnum():  # \b, \1
            raise ValueError(f"\\{character} is not understood")
        return frozenset(character)

    def _place(self, takes: Iterable[str]) -> _Part:
        bit = 1 << len(self._takes)
        self._takes.append(frozenset(takes))
        self._follow.append(0)
        return _Part(may_be_empty=False, first=bit, last=bit)

    def _joined(self, one: _Part, other: _Part) -> _Part:
        for place in _bits(one.last):
            self._follow[place] |= other.first
        return _Part(
            may_be_empty=one.may_be_empty and other.may_be_empty,
            first=one.first | (other.first if one.may_be_empty else 0),
            last=other.last | (one.last if other.may_be_empty else 0),
        )

    def _skip(self, character: str) -> bool:
        is_next = self._text.startswith(character, self._at)
        self._at += is_next
        return is_next


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Of a pattern: the places, as bits, where a match of it begins and ends."""

    may_be_empty: bool
    first: int
    last: int

    def optional(self) -> _Part:
        return _Part(may_be_empty=True, first=self.first, last=self.last)


_NOTHING = _Part(may_be_empty=True, first=0, last=0)


def _bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def _between(low: frozenset[str], high: frozenset[str]) -> frozenset[str]:
    if len(low) != 1 or len(high) != 1 or min(low) > min(high):
        raise ValueError("a set has a range of nothing")
    return frozenset(map(chr, range(ord(min(low)), ord(min(high)) + 1)))
