"""Reading the next piece of text out of a chunk that looks like the last one."""

from __future__ import annotations

import re

from pydantic_core import from_json

from rxagent.wire.json_text import is_array, is_object

__all__ = ["RepeatedChunk"]

# All before the string behind "content", the string, and all after it.
_CONTENT = re.compile(r'(.*"content"\s*:\s*")((?:[^"\\]|\\.)*)(".*)', re.DOTALL)
_PATIENCE = 8  # chunks in a row that do not repeat the one before


class RepeatedChunk:
    """Read a chunk of text as the one before it, but for the text.

    The chunks of an answer are one JSON text again and again, and differ in one string.
    What stands before and behind that string is compared as a whole, and only the
    string is decoded.  If it is one JSON string, then so is the chunk the same JSON
    value with another string in that place.  Anything else has to be read whole.
    """

    __slots__ = ("_head", "_misses", "_read_head", "_read_tail", "_tail")

    def __init__(self) -> None:
        self._head = ""
        self._tail = ""
        self._read_head = b""
        self._read_tail = b""
        self._misses = 0

    def text_of(self, data: str) -> str | None:
        """The text of a chunk that repeats the one learned; else ``None``."""
        head, tail = self._head, self._tail
        start, end = len(head), len(data) - len(tail)
        if not (0 < start <= end and data.startswith(head) and data.endswith(tail)):
            return None
        try:
            text: object = from_json(f'"{data[start:end]}"')
        except ValueError:
            return None
        self._misses = 0
        return text if isinstance(text, str) else None

    def text_of_read(self, read: bytes) -> str | None:
        """The text of a read that is one event and nothing else; else ``None``.

        Ask only between two events.
        """
        head, tail = self._read_head, self._read_tail
        start, end = len(head), len(read) - len(tail)
        if not (0 < start <= end and read.startswith(head) and read.endswith(tail)):
            return None
        try:
            text: object = from_json(b'"%b"' % read[start:end])
        except ValueError:
            return None
        self._misses = 0
        return text if isinstance(text, str) else None

    def learn(self, data: str, chunk: dict[str, object]) -> None:
        """Remember a chunk, if it says some text and nothing else.

        Args:
            data: Its JSON text.
            chunk: Its value.
        """
        if self._misses > _PATIENCE:
            return  # a server that puts something new into each chunk
        self._misses += 1
        text = _only_text(chunk)
        place = _CONTENT.fullmatch(data) if text is not None else None
        if place is None:
            return
        head, said, tail = place.groups()
        if from_json(f'"{said}"') == text:
            self._head, self._tail = head, tail
            one_line = "\n" not in data and "\r" not in data
            self._read_head = f"data: {head}".encode() if one_line else b""
            self._read_tail = f"{tail}\n\n".encode()


def _only_text(chunk: dict[str, object]) -> str | None:
    choices = chunk.get("choices")
    if not is_array(choices) or len(choices) != 1 or not is_object(choices[0]):
        return None
    choice = choices[0]
    delta = choice.get("delta")
    if not is_object(delta) or choice.get("index") or choice.get("finish_reason"):
        return None
    others = (each for name, each in delta.items() if name not in ("content", "role"))
    text = delta.get("content")
    if not isinstance(text, str) or any(others) or chunk.get("usage"):
        return None
    return None if "x_groq" in chunk or chunk.get("error") else text
