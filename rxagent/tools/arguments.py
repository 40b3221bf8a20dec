"""Checking the arguments of a call before its tool runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["ArgumentsCheck", "Misfit", "located"]

# A long list of wrong items, or one long item, would fill the model's window.
_PROBLEMS = 20
_PROBLEM_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """Arguments that the tool cannot take.

    Args:
        problems: Each names the place and what is wrong there.
    """

    problems: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"- {_short(problem)}" for problem in self.problems[:_PROBLEMS]]
        if len(self.problems) > _PROBLEMS:
            lines.append(f"- and {len(self.problems) - _PROBLEMS} more")
        return "\n".join(lines)


ArgumentsCheck: TypeAlias = Callable[[dict[str, object]], "dict[str, object] | Misfit"]
"""From the JSON object that a model wrote to the keyword arguments of a function."""


def located(path: Iterable[int | str], problem: str) -> str:
    """Say where a problem is: ``seats[2].row: Field required``."""
    where = "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" for step in path
    )
    return f"{where.removeprefix('.')}: {problem}" if where else problem


def _short(text: str) -> str:
    return text if len(text) <= _PROBLEM_CHARS else f"{text[: _PROBLEM_CHARS - 1]}…"
