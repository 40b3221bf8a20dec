"""Arguments of a call that come leaf by leaf, each under its path."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TypeAlias

from rxagent.wire.json_text import is_array, is_object

__all__ = ["PartialArgs"]

_Step: TypeAlias = str | int
_STEP = re.compile(
    r"""\.(?P<name>[^.\[]+)
      | \[(?P<index>\d{1,9})\]
      | \['(?P<single>(?:[^'\\]|\\.)*)'\]
      | \["(?P<double>(?:[^"\\]|\\.)*)"\]""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class PartialArgs:
    """Build the arguments of one call; a text may come in several pieces.

    Source: https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling,
    streaming arguments of function calls.
    """

    def __init__(self) -> None:
        self._root: dict[str, object] = {}
        self._open: tuple[str, list[str]] | None = None  # a text and its path

    def add(self, piece: dict[str, object]) -> None:
        """Take a leaf, or the next piece of one.

        Raises:
            ValueError: If it fits nowhere, as the rest of a sentence.
        """
        found = piece.get("jsonPath")
        path = found if isinstance(found, str) else ""
        text = piece.get("stringValue")
        if isinstance(text, str):
            self._text(path, text, continues=piece.get("willContinue") is True)
            return
        self._close()
        if isinstance(number := piece.get("numberValue"), int | float):
            # All numbers are sent as doubles.
            is_whole = isinstance(number, float) and number.is_integer()
            self._set(path, int(number) if is_whole else number)
        elif isinstance(truth := piece.get("boolValue"), bool):
            self._set(path, truth)
        elif "nullValue" in piece:
            self._set(path, None)

    def whole(self) -> dict[str, object]:
        """Return the object, once nothing more comes."""
        self._close()
        return self._root

    def _text(self, path: str, text: str, *, continues: bool) -> None:
        if self._open is None or self._open[0] != path:
            self._close()
            self._open = (path, [])
        self._open[1].append(text)
        if not continues:
            self._close()

    def _close(self) -> None:
        if self._open is not None:
            path, pieces = self._open
            self._open = None
            self._set(path, "".join(pieces))

    def _set(self, path: str, value: object) -> None:
        steps = _steps(path)
        place: object = self._root
        for step, following in pairwise(steps):
            inner = _get(place, step)
            if inner is None:
                inner = list[object]()
                if isinstance(following, str):
                    inner = dict[str, object]()
                _put(place, step, inner, path=path)
            place = inner
        _put(place, steps[-1], value, path=path)


def _steps(path: str) -> list[_Step]:
    steps: list[_Step] = []
    position = 1
    while step := _STEP.match(path, position):
        position = step.end()
        if step["index"] is not None:
            steps.append(int(step["index"]))
        elif step["name"] is not None:
            steps.append(step["name"])
        else:
            steps.append(_ESCAPE.sub(r"\1", step["single"] or step["double"] or ""))
    if not path.startswith("$") or position != len(path) or not steps:
        raise ValueError(f"has an argument whose path is not understood: {path!r}")
    return steps


def _get(place: object, step: _Step) -> object:
    if is_object(place) and isinstance(step, str):
        return place.get(step)
    if is_array(place) and isinstance(step, int) and step < len(place):
        return place[step]
    return None


def _put(place: object, step: _Step, value: object, *, path: str) -> None:
    if is_object(place) and isinstance(step, str):
        place[step] = value
    elif is_array(place) and isinstance(step, int) and step <= len(place):
        place[step : step + 1] = [value]
    else:
        raise ValueError(f"has an argument that fits nowhere: {path!r}")
