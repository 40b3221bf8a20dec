"""Reading the next piece of an answer out of a chunk that looks like the last one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import AnyStr, Generic

from pydantic_core import from_json

from rxagent.wire.json_text import is_object

__all__ = ["RepeatedChunk"]

# A member of an object whose value is a string or a whole number.
_MEMBER = re.compile(
    r'"(\w+)"\s*:\s*(?:"((?:[^"\\]|\\.)*)"|(\d+)(?![\d.eE]))', re.ASCII
)
_PROBE = "what only a probe says"
_PATIENCE = 8  # chunks in a row that do not repeat the one before


class RepeatedChunk:
    """Read a chunk that is the one before it, but for the piece that it says.

    The chunks of an answer are one JSON text again and again.  They differ in the
    string that is the piece, and some in members that say nothing, such as a number of
    the event.  These are holes; what stands between them is compared as a whole.  Where
    each hole holds one JSON string or number, as it did before, the chunk is the same
    JSON value with others in those places.  Anything else has to be read whole, and
    then this one is to `forget` what it knew.

    Args:
        piece_in: Returns the piece of a chunk that says this one and nothing else.
        piece: Names of the members that may hold it.
        idle: Names of members that say nothing, wherever they are.
    """

    __slots__ = (
        "_data",
        "_idle",
        "_json",
        "_misses",
        "_name",
        "_names",
        "_piece_in",
        "_read",
    )

    def __init__(
        self,
        piece_in: Callable[[dict[str, object]], str | None],
        *,
        piece: Sequence[str],
        idle: Sequence[str] = (),
    ) -> None:
        self._piece_in = piece_in
        self._names = frozenset(piece)
        self._idle = frozenset(idle)
        self._json: _Pattern[str] | None = None
        self._read: _Pattern[bytes] | None = None
        self._name = ""
        self._data = ""
        self._misses = 0

    def piece_of(self, data: str, name: str = "") -> str | None:
        """The piece of a chunk that repeats the one before it; else ``None``.

        Args:
            data: Its JSON text.
            name: Of the event.
        """
        if self._json is None or name != self._name:
            return None
        piece = self._json.piece_of(data)
        if piece is not None:
            self._data = data
            self._misses = 0
        return piece

    def piece_of_read(self, read: bytes) -> str | None:
        """The piece of a read that repeats the one before it; else ``None``."""
        if self._read is None:
            return None
        piece = self._read.piece_of(read)
        if piece is not None:
            self._misses = 0
        return piece

    def forget(self) -> None:
        """From now on, nothing is a repetition."""
        self._json = self._read = None

    def learn(self, data: str, chunk: dict[str, object], name: str = "") -> None:
        """Remember a chunk, if all that it says is a piece.

        Args:
            data: Its JSON text.
            chunk: Its value.
            name: Of the event.
        """
        if self._misses > _PATIENCE:
            return  # a server that puts something new into each chunk
        self._misses += 1
        if self._piece_in(chunk) is not None:
            self._json = self._pattern(data)
            self._name, self._data = name, data

    def learn_read(self, read: bytes, *, alone: bool) -> None:
        """Remember what the chunk stands in that was seen last.

        Args:
            read: The bytes of it.
            alone: Whether they are one event, and nothing else.
        """
        self._read = None
        if self._json is None or not alone:
            return
        # What is around one line stays around any other; of several, none is found.
        data = self._data.encode()
        before, found, behind = read.partition(data)
        if found and b"\n" not in data and data not in behind:
            self._read = self._json.within(before, behind)

    def _pattern(self, data: str) -> _Pattern[str] | None:
        """The chunk with holes, if what is put into them is read as a piece is."""
        members = [*_MEMBER.finditer(data)]
        idle = [each for each in members if each[1] in self._idle]
        for member in members:
            if member[1] in self._names and member[2] is not None:
                start, end = member.span(2)
                probe: object = from_json(f"{data[:start]}{_PROBE}{data[end:]}")
                if is_object(probe) and self._piece_in(probe) == _PROBE:
                    return _pattern_of(data, (start, end), idle)
        return None


@dataclass(frozen=True, slots=True)
class _Pattern(Generic[AnyStr]):
    """A text with holes for a piece, and for strings and numbers that say nothing.

    Args:
        first: What it begins with.
        last: What it ends with.
        before: For each hole before the piece, what follows it, and if it is a number.
        behind: For each hole behind the piece, what precedes it, and if it is a number;
            the last hole first.
        quote: Of a string.
    """

    first: AnyStr
    last: AnyStr
    before: tuple[tuple[AnyStr, bool], ...]
    behind: tuple[tuple[AnyStr, bool], ...]
    quote: AnyStr

    def within(self: _Pattern[str], before: bytes, behind: bytes) -> _Pattern[bytes]:
        """The same in bytes, and with more around it."""
        return _Pattern(
            before + self.first.encode(),
            self.last.encode() + behind,
            tuple((literal.encode(), number) for literal, number in self.before),
            tuple((literal.encode(), number) for literal, number in self.behind),
            b'"',
        )

    def piece_of(self, text: AnyStr) -> str | None:
        """The piece in ``text``; ``None`` if that is something else."""
        first, last, quote = self.first, self.last, self.quote
        start, end = len(first), len(text) - len(last)
        if not (start <= end and text.startswith(first) and text.endswith(last)):
            return None
        piece = text[start:end]
        try:
            for literal, is_number in self.before:
                hole, found, piece = piece.partition(literal)
                if not (found and _is_filled(hole, quote, is_number=is_number)):
                    return None
            for literal, is_number in self.behind:
                piece, found, hole = piece.rpartition(literal)
                if not (found and _is_filled(hole, quote, is_number=is_number)):
                    return None
            value: object = from_json(quote + piece + quote)
        except ValueError:
            return None
        return value if isinstance(value, str) else None


def _is_filled(hole: AnyStr, quote: AnyStr, *, is_number: bool) -> bool:
    """Whether a hole holds one JSON value; raises ``ValueError`` if it is no JSON."""
    if is_number:
        return hole.isdigit() and isinstance(from_json(hole), int)
    return isinstance(from_json(quote + hole + quote), str)


def _pattern_of(
    data: str, piece: tuple[int, int], idle: Sequence[re.Match[str]]
) -> _Pattern[str]:
    """Cut ``data`` at its holes."""
    holes = [(*each.span(each.lastindex or 0), each[3] is not None) for each in idle]
    left = [hole for hole in holes if hole[1] <= piece[0]]
    right = [hole for hole in holes if hole[0] >= piece[1]]
    ends = [*(start for start, _, _ in left), piece[0]]
    starts = [piece[1], *(end for _, end, _ in right)]
    before = [
        (data[end:following], is_number)
        for (_, end, is_number), following in zip(left, ends[1:], strict=True)
    ]
    behind = [
        (data[preceding:start], is_number)
        for (start, _, is_number), preceding in zip(right, starts[:-1], strict=True)
    ]
    return _Pattern(
        data[: ends[0]], data[starts[-1] :], tuple(before), tuple(behind[::-1]), '"'
    )
