"""Reading marbles out of docstrings, and what virtual time recorded."""

from __future__ import annotations

from typing import Any

from reactivex.testing.recorded import Recorded

Letters = dict[str | float, Any]


def drawn(docstring: str | None) -> tuple[str | None, str]:
    """The line above ``[ operator ]`` and the one below it, without their remarks."""
    assert docstring is not None
    lines = [line.strip() for line in docstring.splitlines()]
    at = next(index for index, line in enumerate(lines) if line.startswith("[ "))
    above = lines[at - 1]
    return (above.split()[0] if above else None), lines[at + 1].split()[0]


def comparable(messages: list[Recorded[Any]]) -> list[tuple[float, object]]:
    """Times and notifications; an error by its text, since no two are equal."""
    found: list[tuple[float, object]] = []
    for message in messages:
        notification: Any = message.value
        is_error = notification.kind == "E"
        found.append((message.time, str(notification) if is_error else notification))
    return found


def emitted(messages: list[Recorded[Any]]) -> list[tuple[float, Any]]:
    """Times and items, without the end."""
    notifications: list[tuple[float, Any]] = [(m.time, m.value) for m in messages]
    return [(time, each.value) for time, each in notifications if each.kind == "N"]
