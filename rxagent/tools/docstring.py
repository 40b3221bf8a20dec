"""What a Google docstring says of a function and of its parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["Docstring", "read_docstring"]

_ARGUMENTS = ("Args:", "Arguments:", "Parameters:")
_SECTIONS = (*_ARGUMENTS, "Returns:", "Yields:", "Raises:")
# "name: text" or "name (type, optional): text"
_ENTRY = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Docstring:
    """The parts of a docstring that a model should read.

    Args:
        description: The text before ``Args:`` or another section that says what goes
            in or comes out.
        parameters: By name; each a single line.
    """

    description: str
    parameters: Mapping[str, str]


def read_docstring(text: str | None) -> Docstring:
    """Read a docstring in Google style.

    Args:
        text: As it stands in the source; ``None`` if there is none.

    Source: Google Python Style Guide, 3.8.3, Functions and Methods.
    """
    lines = inspect.cleandoc(text or "").splitlines()
    heads = [at for at, line in enumerate(lines) if line.rstrip() in _SECTIONS]
    description = lines[: heads[0]] if heads else lines
    parameters: dict[str, str] = {}
    for head in heads:
        if lines[head].rstrip() in _ARGUMENTS:
            parameters.update(_entries(_indented(lines[head + 1 :])))
    return Docstring(description="\n".join(description).strip(), parameters=parameters)


def _indented(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line and not line.startswith((" ", "\t")):
            return
        if line.strip():
            yield line


def _entries(lines: Iterator[str]) -> Iterator[tuple[str, str]]:
    name, words, margin = "", list[str](), 0
    for line in lines:
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        margin = margin or indent
        entry = _ENTRY.fullmatch(text) if indent <= margin else None
        if entry is None:
            words.append(text)
            continue
        if name:
            yield name, " ".join(filter(None, words))
        name, words = entry["name"], [entry["text"]]
    if name:
        yield name, " ".join(filter(None, words))
