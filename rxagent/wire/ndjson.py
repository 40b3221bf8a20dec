"""Newline-delimited JSON: bytes in, lines out, wherever the reads are cut."""

from __future__ import annotations

import codecs

__all__ = ["NdjsonDecoder"]

_BOM = codecs.BOM_UTF8
_BLANK = b" \t\r\n"


class NdjsonDecoder:
    r"""Cut a stream of bytes into lines, in linear time and without a limit on lines.

    A line ends in LF, and the CR before it is blank space to JSON.  Blank lines are
    skipped, and so is a byte order mark.  The last line counts although nothing ends
    it.  Bytes that are no UTF-8 become U+FFFD.

    Source: https://github.com/ndjson/ndjson-spec
    """

    __slots__ = ("_is_first", "_line", "is_alone")

    def __init__(self) -> None:
        self.is_alone = False
        """Whether the last read was one line and nothing else, not even in part."""
        self._line: list[bytes] = []  # pieces of a line whose end has not come
        self._is_first = True

    def feed(self, chunk: bytes, /) -> list[str]:
        """Take the bytes of one read.

        Args:
            chunk: As it was read.

        Returns:
            The lines that are complete, without the blank space around them.
        """
        begun = self._line or self._is_first
        first, *lines = chunk.split(b"\n")
        self.is_alone = not begun and lines == [b""]
        if first:
            self._line.append(first)
        if not lines:
            return []
        rest = lines.pop()
        whole = [self._joined(), *lines]
        self._line = [rest] if rest else []
        return [
            line.decode("utf-8", "replace")
            for raw in whole
            if (line := raw.strip(_BLANK))
        ]

    def flush(self) -> list[str]:
        """Return the line that no LF has ended, if there is one."""
        return self.feed(b"\n")

    def _joined(self) -> bytes:
        """The line that waited; the first of all may begin with a byte order mark."""
        line = b"".join(self._line)
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(_BOM)
        return line
