"""How much work a call is, in numbers that are the same each time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, ModuleType

__all__ = ["work_of"]

_TEXTS = (str, bytes, bytearray)


def work_of(run: Callable[[], object]) -> int:
    """Count the calls of ``run``, and the characters that they are about.

    Of a call in Python these are the texts that it takes and returns; of a method of a
    text, the text; of any other function that reads texts, such as a parser of JSON,
    those that its caller holds; of ``join``, those in lists that an object of its
    caller keeps.  So whoever reads again what was read before is found.
    """
    total = 0

    def hook(frame: FrameType, event: str, argument: object) -> None:
        nonlocal total
        if event == "call":
            total += 1 + sum(map(_size, frame.f_locals.values()))
        elif event == "return":
            total += _size(argument)
        elif event == "c_call":
            total += 1 + _read_by(argument, frame)

    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        run()
    finally:
        sys.setprofile(before)
    return total


def _size(value: object) -> int:
    return len(value) if isinstance(value, _TEXTS) else 0


def _read_by(function: object, frame: FrameType) -> int:
    owner: object = getattr(function, "__self__", None)
    if isinstance(owner, _TEXTS):
        if getattr(function, "__name__", "") != "join":
            return len(owner)
        kept = (each for each in _kept(frame) if isinstance(each, list))
        return sum(_size(text) for texts in kept for text in texts)
    if isinstance(owner, ModuleType) and owner.__name__ == "builtins":
        return 0  # such as len
    if isinstance(owner, list | dict | set):
        return 0
    return max(map(_size, (*frame.f_locals.values(), *_kept(frame))), default=0)


def _kept(frame: FrameType) -> list[object]:
    """What the local variables have as attributes."""
    found: list[object] = []
    for value in frame.f_locals.values():
        slots = getattr(type(value), "__slots__", ())
        found += [getattr(value, name, None) for name in slots]
        found += getattr(value, "__dict__", {}).values()
    return found
