from __future__ import annotations

import re
from collections.abc import Sequence

from rxagent.guards._named_guard import NamedGuard
from rxagent.guards._text_guard import TextGuard


def json_only() -> TextGuard:
    r"""Deliver the first JSON object or array of an answer, and no prose around it.

    ::

        --a--b--c--(F,|)                  a = "Here: {", b = "\"a\": 1", c = "} Fine?"
        [ guard(json_only()) ]
        -----x--y--(F,|)                  x = "{\"a\": 1", y = "}"

    It leaves as it comes, from the moment when it is sure to be JSON and no brackets of
    prose: an object with the colon behind its first key, an array with its first text,
    object or array.  What is less sure, such as ``[1, 2]`` or ``{}``, counts where it
    starts a line.  Fences that say another language than JSON are skipped.

    It is not checked or mended; `rxagent.wire.extract_json` and a schema do that for
    the whole answer.  Put ``think_tags()`` before it, where a model drafts JSON while
    it thinks.

    Returns:
        A text guard.  Without JSON nothing is delivered.  What is cut off at the end of
        the text is delivered as far as it came.
    """
    return NamedGuard(name="json_only", make=_FirstJson)


_LANGUAGES = {"", "json", "json5", "jsonc", "jsonl"}  # of fences that may hold it
_LINE_CHARS = 40  # of a line's start; enough for a fence and its language
_LONGEST_START = 1000  # in characters; no key of an object is longer
_BRACKET_OR_LINE = re.compile(r"[{\[\n]")
_STRUCTURE = re.compile(r'["{}\[\]]')
_IN_STRING = re.compile(r'["\\]')

_SCALAR = r"(?:-?\d[\d.eE+-]*+|true|false|null)"
_START = re.compile(
    r"(?:\[\s*+){0,8}+"
    r'(?:(?P<text>")|\{\s*+(?:"(?:[^"\\]|\\(?:.|\Z))*+(?:"\s*+(?P<colon>:)?+)?+)?+)?+',
    re.DOTALL,
)
_PLAIN = re.compile(
    rf"(?:\[\s*+){{1,8}}+{_SCALAR}\s*+,"
    rf"|(?:\[\s*+(?:{_SCALAR}\s*+)?+\]|\{{\s*+\}})[ \t]*+(?P<end>\n|\Z)"
)
_OPEN_PLAIN = re.compile(r"(?:\[\s*+){1,8}+(?:[-+.\dE]*+|[a-z]{1,5}+)\s*+\Z")


class _FirstJson:
    """Skips prose, holds what may be the start of JSON, and lets the rest of it out."""

    __slots__ = (
        "_depth",
        "_escaped",
        "_foreign",
        "_in_string",
        "_is_open",
        "_last",
        "_line",
        "_start",
        "is_done",
    )

    def __init__(self) -> None:
        self._start = ""  # what may be the start of JSON
        self._line = ""  # the start of the line of prose
        self._last = ""  # the last character of prose
        self._foreign = False  # within a fence of another language
        self._is_open = False  # the JSON has begun
        self._depth = 0
        self._in_string = self._escaped = False
        self.is_done = False

    @property
    def held(self) -> int:
        return len(self._start)

    def feed(self, text: str, /) -> Sequence[str]:
        return self._read(text, is_end=False)

    def flush(self) -> Sequence[str]:
        return self._read("", is_end=True)

    def _read(self, text: str, *, is_end: bool) -> Sequence[str]:
        text, self._start = self._start + text, ""
        at = 0
        while not self._is_open and (at := self._skip(text, at)) < len(text):
            found = self._begins(text, at, is_end=is_end)
            if found is None:
                self._start = text[at:]
                return ()
            self._is_open = found
            if not found:
                self._pass(text[at])
                at += 1
        if self.is_done or not self._is_open:
            return ()
        end = self._end(text, at)
        self.is_done = not self._depth
        return (text[at:end],) if end > at else ()

    def _skip(self, text: str, at: int) -> int:
        """Read prose up to the next bracket, or to the end of ``text``."""
        while found := _BRACKET_OR_LINE.search(text, at):
            self._pass(text[at : found.start()])
            if found[0] != "\n":
                if not self._foreign and not self._is_index(found[0]):
                    return found.start()
                self._pass(found[0])
            else:
                self._end_line()
            at = found.end()
        self._pass(text[at:])
        return len(text)

    def _pass(self, prose: str) -> None:
        self._line = (self._line + prose[:_LINE_CHARS])[:_LINE_CHARS]
        self._last = prose[-1:] or self._last

    def _end_line(self) -> None:
        line = self._line.strip()
        if line.startswith("```"):
            language = line.strip("`").strip().casefold()
            self._foreign = not self._foreign and language not in _LANGUAGES
        self._line = self._last = ""

    def _is_index(self, bracket: str) -> bool:
        """Whether it belongs to what is before it, as in ``rows[0]``."""
        return bracket == "[" and (
            self._last.isalnum() or self._last in {"_", ")", "]"}
        )

    def _begins(self, text: str, at: int, *, is_end: bool) -> bool | None:
        """Whether JSON begins at a bracket; ``None`` if what follows decides."""
        end = min(len(text), at + _LONGEST_START)  # so the search is linear
        start = _START.match(text, at, end)
        assert start is not None  # it matches nothing, too
        if start["text"] or start["colon"]:
            return True
        may_become = start.end() == end
        if not self._line.strip(" \t\r`"):
            plain = _PLAIN.match(text, at, end)
            if plain is not None and (plain["end"] != "" or is_end):
                return True
            may_become = may_become or bool(plain or _OPEN_PLAIN.match(text, at, end))
        is_short = end - at < _LONGEST_START
        return None if may_become and is_short and not is_end else False

    def _end(self, text: str, at: int) -> int:
        """Read JSON to its end, or to the end of ``text``."""
        while at < len(text):
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            search = _IN_STRING if self._in_string else _STRUCTURE
            found = search.search(text, at)
            if found is None:
                return len(text)
            at = found.end()
            match found[0]:
                case "\\":
                    self._escaped = True
                case '"':
                    self._in_string = not self._in_string
                case "{" | "[":
                    self._depth += 1
                case _:
                    self._depth -= 1
                    if not self._depth:
                        return at
        return at
