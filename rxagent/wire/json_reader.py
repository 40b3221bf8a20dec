"""JSON text read as it comes: each value is there as soon as it is complete."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic_core import from_json

__all__ = ["JsonPath", "JsonReader", "JsonValue"]

JsonPath: TypeAlias = tuple[str | int, ...]

_OUTSIDE = re.compile(r'[{}\[\],:"]')
_INSIDE = re.compile(r'["\\]')
_CLOSES = {"{": "}", "[": "]"}
_NAME = ("first name", "next name")
_VALUE = ("value", "first value", "next value")  # the first stands behind a colon


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonValue:
    """A value that is complete, and where it stands.

    Args:
        path: Names and places from the root, which is ``()``.
        value: What it is.
    """

    path: JsonPath
    value: object


@dataclass(slots=True)
class _Open:
    """An object or array whose end has not come."""

    mark: str
    value: dict[str, object] | list[object]
    expects: str  # a name, a colon, a value, or "more": what follows one
    name: str = ""  # of the member that is read


class JsonReader:
    """A transducer from pieces of JSON text to the values that are complete.

    Inner values come before the outer ones, the root last.  It is strict: what is no
    JSON ends it, `is_broken` says so, and nothing more comes out.

    Args:
        depth: How deep values are reported: 1 are the members of the root.
    """

    def __init__(self, *, depth: int = 2) -> None:
        self.is_broken = False
        self._depth = depth
        self._open: list[_Open] = []
        self._token: list[str] = []  # pieces of the string or scalar that is read
        self._in_string = False
        self._is_escaped = False
        self._is_over = False
        self._out: list[JsonValue] = []

    def feed(self, text: str, /) -> Sequence[JsonValue]:
        """Take a piece; return the values that it completes."""
        self._out = []
        if not self.is_broken:
            try:
                at = 0
                while at < len(text):
                    at = (self._string if self._in_string else self._outside)(text, at)
            except (ValueError, TypeError):  # TypeError: half of a surrogate pair
                self.is_broken = True
        return self._out

    def flush(self) -> Sequence[JsonValue]:
        """Return the root, if only the end says that it is complete."""
        self._out = []
        if not self.is_broken:
            try:
                self._end_scalar()
            except ValueError:
                self.is_broken = True
        self.is_broken = self.is_broken or not self._is_over
        return self._out

    def _string(self, text: str, at: int) -> int:
        if self._is_escaped:
            self._token.append(text[at])
            self._is_escaped = False
            return at + 1
        found = _INSIDE.search(text, at)
        if found is None:
            self._token.append(text[at:])
            return len(text)
        self._token.append(text[at : found.end()])
        if found[0] == "\\":
            self._is_escaped = True
        else:
            self._in_string = False
            self._end_string()
        return found.end()

    def _outside(self, text: str, at: int) -> int:
        found = _OUTSIDE.search(text, at)
        end = found.start() if found else len(text)
        if end > at:
            self._scalar(text[at:end])
        if found is None:
            return end
        mark = found[0]
        self._end_scalar()
        if mark == '"':
            self._expect(*_VALUE, *_NAME)
            self._in_string = True
            self._token = ['"']
        elif mark in _CLOSES:
            self._expect(*_VALUE)
            self._open.append(
                _Open(mark, {}, expects="first name")
                if mark == "{"
                else _Open(mark, [], expects="first value")
            )
        elif mark == ":":
            self._expect("colon")
            self._open[-1].expects = "value"
        elif mark == ",":
            self._expect("more")
            top = self._open[-1]
            top.expects = "next name" if top.mark == "{" else "next value"
        else:
            self._close(mark)
        return found.end()

    def _scalar(self, text: str) -> None:
        # A scalar in two pieces has no blank between them.
        if text.isspace():
            if self._token:
                self._end_scalar()
            return
        if self._token and text[0].isspace():
            self._end_scalar()
        self._token.append(text)
        if text[-1].isspace():
            self._end_scalar()

    def _end_scalar(self) -> None:
        if self._token:
            text, self._token = "".join(self._token), []
            self._expect(*_VALUE)
            self._complete(from_json(text.strip(), allow_inf_nan=False))

    def _end_string(self) -> None:
        text, self._token = "".join(self._token), []
        value = from_json(text)
        top = self._open[-1] if self._open else None
        if top is not None and top.expects in _NAME:
            top.name, top.expects = value, "colon"
        else:
            self._complete(value)

    def _close(self, mark: str) -> None:
        # A comma before the end is what models write, and no harm.
        self._expect("more", *_NAME, *_VALUE[1:])
        if _CLOSES[self._open[-1].mark] != mark:
            raise ValueError(mark)
        value = self._open.pop().value
        self._complete(value)

    def _expect(self, *allowed: str) -> None:
        if self._is_over or self._expected() not in allowed:
            raise ValueError("no JSON")

    def _expected(self) -> str:
        return self._open[-1].expects if self._open else "value"

    def _complete(self, value: object) -> None:
        if len(self._open) <= self._depth:
            path = tuple(
                len(each.value) if isinstance(each.value, list) else each.name
                for each in self._open
            )
            self._out.append(JsonValue(path=path, value=value))
        if self._open:
            top = self._open[-1]
            if isinstance(top.value, list):
                top.value.append(value)
            else:
                top.value[top.name] = value
            top.expects = "more"
        else:
            self._is_over = True
