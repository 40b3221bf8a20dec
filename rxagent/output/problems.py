"""What is wrong with a value, as a sentence that a model can act on."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from rxagent.wire.json_text import dump_json

__all__ = ["Check", "Misfit", "as_text", "misfit", "missing", "place"]

_SHOWN_CHARS = 60
_ROOT = "the answer"


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value is not what it should be.

    Args:
        problem: The first thing that is wrong.
    """

    problem: str


Check: TypeAlias = Callable[[bytes], object]
"""From JSON to the value that it stands for, or to a `Misfit`."""


def place(path: Iterable[int | str], *, root: str = _ROOT) -> str:
    """Name a place: ``films[1].year``; the root has a name of its own."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".") or root


def missing(path: Iterable[int | str]) -> Misfit:
    """Say that something required is not there."""
    return Misfit(f"{place(path)} is missing, and is required")


def misfit(path: Iterable[int | str], expected: str, found: object) -> Misfit:
    """Say what was expected at a place, and what was found.

    Args:
        path: Where.
        expected: The rest of a sentence: ``should be ...``.
        found: What is there, decoded from JSON.
    """
    return Misfit(f"{place(path)} {expected}, but is {_shown(found)}")


def as_text(value: object) -> str:
    """Write a value as JSON, or as Python where JSON cannot say it."""
    try:
        return dump_json(value).decode()
    except (ValueError, TypeError):
        return reprlib.repr(value)


def _shown(value: object) -> str:
    text = as_text(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"
