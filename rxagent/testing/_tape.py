"""The file of a cassette: what was recorded, and what of it is still to be asked."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path

from rxagent.errors import ConfigurationError
from rxagent.testing._difference import differences
from rxagent.testing._recorded import Asked, Recorded
from rxagent.wire.json_text import is_object

__all__ = ["Tape"]

_SHOWN = 8  # differences in an error
_AGAIN = "record with RXAGENT_RECORD=all, or change the request"


class Tape:
    """Recorded requests, to be taken one by one, or to be added.

    Args:
        path: Of the file.
        is_new: Whether what is in it, if there is one, is of no account.

    Raises:
        ConfigurationError: If the file is something else.
    """

    def __init__(self, path: Path, *, is_new: bool) -> None:
        self._path = path
        self._is_new = is_new
        self._lock = threading.Lock()  # loops of several threads may share it
        self._known = [] if is_new else _load(path)
        self._waiting: dict[str, deque[Recorded]] = {}
        for each in self._known:
            self._waiting.setdefault(each.asked.key, deque()).append(each)

    def __len__(self) -> int:
        return len(self._known)

    def left(self) -> list[Recorded]:
        """Return what was not taken."""
        return [each for waiting in self._waiting.values() for each in waiting]

    def take(self, asked: Asked) -> Recorded:
        """Return what was recorded for a request; for equal ones in their order.

        Raises:
            AssertionError: If nothing is left; says what differs from what is nearest.
        """
        with self._lock:
            waiting = self._waiting.get(asked.key)
            if waiting:
                return waiting.popleft()
        raise AssertionError(f"{self._problem(asked)}\n{_AGAIN}")

    def add(self, recorded: Recorded) -> None:
        """Write a request to the file, now."""
        with self._lock:
            mode, self._is_new = "w" if self._is_new else "a", False
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Half of a surrogate pair is written as it was sent.
            with self._path.open(
                mode, encoding="utf-8", errors="surrogatepass", newline="\n"
            ) as file:
                file.write(f"{recorded.line()}\n")

    def _problem(self, asked: Asked) -> str:
        where = f"the cassette {self._path}"
        if not self._known:
            return f"{asked} is not in {where}, which holds nothing"
        if asked.key in self._waiting:
            times = sum(each.asked.key == asked.key for each in self._known)
            return f"{asked} is in {where} {times} times, and is made once more"
        unlike = {each.number: _unlike(asked, each.asked) for each in self._known}
        nearest = min(unlike, key=lambda number: len(unlike[number]))
        lines = unlike[nearest]
        if len(lines) > _SHOWN:
            lines = [*lines[:_SHOWN], f"and {len(lines) - _SHOWN} more"]
        listed = "\n  ".join(lines)
        return f"{asked} is not in {where}; nearest is number {nearest}:\n  {listed}"


def _unlike(asked: Asked, other: Asked) -> list[str]:
    now, then = asked.content, other.content
    if is_object(now) and is_object(then) and "json" in now and "json" in then:
        now, then = now["json"], then["json"]
    return [
        *differences(str(asked), str(other), where="request"),
        *differences(now, then),
    ]


def _load(path: Path) -> list[Recorded]:
    if not path.exists():
        return []
    found = list[Recorded]()
    with path.open(encoding="utf-8", errors="surrogatepass", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            try:
                found.append(Recorded.of_line(line))
            except ValueError as error:
                raise ConfigurationError(
                    f"{path} is no cassette: line {number}: {error}; record it again "
                    "with RXAGENT_RECORD=all"
                ) from None
    return sorted(found, key=lambda each: each.number)
