"""Server-sent events: bytes in, events out, wherever the reads are cut."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

__all__ = ["SseDecoder", "SseEvent"]

_BOM = codecs.BOM_UTF8
_IGNORED = (b"", b"id", b"retry")  # an empty field is a comment
_MAX_STRAY = 1000  # lines


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event.

    Args:
        data: Its data lines, joined by newlines.
        event: Its name.
    """

    data: str
    event: str = "message"


class SseDecoder:
    """Cut a stream of bytes into events, in linear time and without a limit on lines.

    ``id`` and ``retry`` are for reconnecting, which an answer of a model cannot do, and
    are ignored.  Unlike a browser it delivers the last event although no blank line
    follows: gateways close right after the line that holds the finish reason.  Bytes
    that are no UTF-8 become U+FFFD.

    Source: WHATWG HTML, 9.2.6, Interpreting an event stream.
    """

    __slots__ = ("_after_cr", "_data", "_head", "_line", "_name", "_stray", "is_alone")

    def __init__(self) -> None:
        self.is_alone = False
        """Whether the last read was one event and nothing else, not even in part."""
        self._head: bytes | None = b""  # what may be a byte order mark; None: decided
        self._line: list[bytes] = []  # pieces of a line whose end has not come
        self._after_cr = False
        self._data: list[bytes] = []
        self._name = b""
        self._stray: list[bytes] = []

    @property
    def stray(self) -> bytes:
        """The first lines that are no fields, such as an error in plain JSON."""
        return b"\n".join(self._stray)

    def feed(self, chunk: bytes, /) -> list[SseEvent]:
        """Take the bytes of one read.

        Args:
            chunk: As it was read.

        Returns:
            The events that are complete.
        """
        # The common case: a read is one event of one line.
        if (
            chunk[:6] == b"data: "
            and chunk[-2:] == b"\n\n"
            and chunk.find(b"\n") == len(chunk) - 2
            and b"\r" not in chunk
            and not (self._line or self._data or self._name or self._head)
        ):
            self._head = None
            self._after_cr = False
            self.is_alone = True
            return [SseEvent(chunk[6:-2].decode("utf-8", "replace"))]
        begun = self._has_begun()
        events = self._read(chunk)
        self.is_alone = len(events) == 1 and not (begun or self._has_begun())
        return events

    def flush(self) -> list[SseEvent]:
        """Return the event that no blank line has ended, if there is one."""
        return self._read(b"\n\n")

    def _has_begun(self) -> bool:
        """Whether something waits for what the next read brings."""
        waits = self._line or self._data or self._name or self._after_cr
        return bool(waits) or self._head is not None  # a mark is not taken away twice

    def _read(self, chunk: bytes) -> list[SseEvent]:
        if self._head is not None:
            head = self._head + chunk
            if len(head) < len(_BOM) and _BOM.startswith(head):
                self._head = head
                return []
            self._head = None
            chunk = head.removeprefix(_BOM)
        if self._after_cr and chunk:
            # CR at the end of one read and LF at the start of the next end one line.
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_cr = chunk[-1:] == b"\r"
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *lines = chunk.split(b"\n")
        if first:
            self._line.append(first)
        if not lines:
            return []
        whole = b"".join(self._line)
        rest = lines.pop()
        self._line = [rest] if rest else []
        events: list[SseEvent] = []
        for line in (whole, *lines):
            if line:
                self._take(line)
            elif self._data:
                data = b"\n".join(self._data).decode("utf-8", "replace")
                name = self._name.decode("utf-8", "replace")
                events.append(SseEvent(data, name or "message"))
                self._data = []
                self._name = b""
            else:
                self._name = b""
        return events

    def _take(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value
        elif field not in _IGNORED and len(self._stray) < _MAX_STRAY:
            self._stray.append(line)
