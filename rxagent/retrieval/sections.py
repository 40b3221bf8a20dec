"""The sections of a Markdown text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeAlias

from rxagent.retrieval.spans import Span

__all__ = ["Section", "section_spans"]

Section: TypeAlias = tuple[Span, tuple[str, ...]]
"""Where it is, in characters, and its headings, the outermost first."""

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")  # "```a```" is inline
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*$")
_BREAK = re.compile(r" {0,3}([-*_])\s*(?:\1\s*){2,}$")
_CODE = re.compile(r" {4}| {0,3}\t")
# A quote, an item of a list, a row of a table, or HTML.  Such a block may go on with
# any line, so only a blank one ends it for certain.
_NO_PARAGRAPH = re.compile(
    r" {0,3}(?:>|[-+*]\s|\d{1,9}[.)]\s|\||<[a-zA-Z/!?])"
    r"|(?=[^|]*\|)(?=[^-]*-)[\s|:-]+$"
)
_LONGEST = 1_000  # it stands in every chunk below it


def section_spans(text: str) -> Iterator[Section]:
    """Cut a Markdown text at its headings.

    Args:
        text: A heading is a line that starts with ``#``, or a paragraph that is
            underlined with ``===`` or ``---``; neither in a block of code nor in the
            front matter, which is between two lines of ``---`` at the very start.
            What is longer than 1,000 characters is none.

    Source: CommonMark 0.31.2, sections 4.2 and 4.3; a ``#`` is not indented.
    """
    lines = text.splitlines(keepends=True)
    ends = [0, *accumulate(map(len, lines))]
    start, path = 0, dict[int, str]()
    for place, level, heading in _headings(lines):
        if len(heading) > _LONGEST:
            continue
        at = ends[place]
        if at > start:
            yield (start, at), tuple(path.values())
        start = at
        path = {each: path[each] for each in path if each < level}
        path[level] = heading
    if len(text) > start:
        yield (start, len(text)), tuple(path.values())


@dataclass(slots=True)
class _Paragraph:
    """The lines that an underline would make a heading of."""

    first: int = 0
    lines: list[str] = field(default_factory=list[str])
    is_other: bool = False  # some block that no underline makes a heading of

    def add(self, place: int, line: str) -> None:
        if not line.strip():
            self.end()
        elif self.is_other or _NO_PARAGRAPH.match(line):
            self.end(is_other=True)
        elif self.lines:
            self.lines.append(line.strip())
        elif not _CODE.match(line):
            self.first, self.lines = place, [line.strip()]

    def end(self, *, is_other: bool = False) -> None:
        self.lines, self.is_other = [], is_other


def _headings(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """The line at which each heading starts, its level, and its words."""
    fence, above = "", _Paragraph()
    first = _after_front_matter(lines)
    for place, line in enumerate(lines[first:], start=first):
        if mark := _FENCE.match(line):
            above.end()
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif fence:
            continue
        elif level := _level(line):
            above.end()
            yield place, level, _heading(line)
        elif above.lines and (under := _UNDERLINE.match(line)):
            yield above.first, 1 if under[1][0] == "=" else 2, " ".join(above.lines)
            above.end()
        elif _BREAK.match(line):
            above.end()
        else:
            above.add(place, line)


def _after_front_matter(lines: list[str]) -> int:
    """The first line behind it; a thematic break has a blank line behind it."""
    if len(lines) < 2 or lines[0].rstrip() != "---" or not lines[1].strip():
        return 0
    return next(_ends(lines), 0)


def _ends(lines: Iterable[str]) -> Iterator[int]:
    for place, line in enumerate(lines):
        if place and line.rstrip() in ("---", "..."):
            yield place + 1


def _level(line: str) -> int:
    """Of the heading that a line is; 0 if it is none."""
    level = len(line) - len(line.lstrip("#"))
    return level if level <= 6 and line[level : level + 1].isspace() else 0


def _heading(line: str) -> str:
    text = line.lstrip("#").strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else text
