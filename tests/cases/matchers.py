"""Whether what was found is what a case expects."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["check", "matches"]

_REST = "$rest"


def check(expected: Any, found: Any, where: str = "$") -> None:
    """Compare, and name the first place that differs.

    Args:
        expected: A value, or an object of matchers, which must all hold.
        found: Decoded JSON.
        where: Path of both.

    Raises:
        AssertionError: If they do not match.
        ValueError: If there is no such matcher.
    """
    if isinstance(expected, dict):
        if any(name.startswith("$") for name in expected):
            for name, argument in expected.items():
                holds = _holds(name, argument, found, where)
                _say(holds, f"{name} {argument!r}", found, where)
            return
        _say(isinstance(found, dict), "an object", found, where)
        for name, member in expected.items():
            check(member, found.get(name), f"{where}.{name}")
    elif isinstance(expected, list):
        _say(isinstance(found, list | tuple), "a list", found, where)
        _check_items(expected, list(found), where)
    else:
        _say(_equal(expected, found), repr(expected), found, where)


def _check_items(expected: list[Any], found: list[Any], where: str) -> None:
    rest = None
    if expected and isinstance(expected[-1], dict) and _REST in expected[-1]:
        *expected, last = expected
        rest = last[_REST]
    if rest is None:
        _say(len(expected) == len(found), f"{len(expected)} items", found, where)
    else:
        _say(len(expected) <= len(found), f"{len(expected)} items", found, where)
    for place, item in enumerate(found):
        pattern = expected[place] if place < len(expected) else rest
        check(pattern, item, f"{where}[{place}]")


def _holds(name: str, argument: Any, found: Any, where: str) -> bool:
    match name:
        case "$any":
            return any(matches(each, found) for each in argument)
        case "$all":
            for each in argument:
                check(each, found, where)
            return True
        case "$not":
            return not matches(argument, found)
        case "$absent":
            return (found is None) is argument
        case "$len":
            return bool(len(found) == argument)
        case "$max_len":
            return bool(len(found) <= argument)
        case "$lte":
            return _is_number(found) and bool(found <= argument)
        case "$gte":
            return _is_number(found) and bool(found >= argument)
        case "$all_scores":
            scores = [
                each["score"] if isinstance(each, dict) else each for each in found
            ]
            return all(_equal(argument, score) for score in scores)
        case "$type":
            types: dict[str, type] = {"string": str, "list": list}
            return isinstance(found, types[argument])
        case _:
            return _text_holds(name, argument, found, where)


def _text_holds(name: str, argument: Any, found: Any, where: str) -> bool:
    _say(isinstance(found, str), "a text", found, where)
    match name:
        case "$contains":
            return argument in found
        case "$contains_all":
            return all(each in found for each in argument)
        case "$regex":
            return re.search(argument, found, re.DOTALL) is not None
        case "$not_regex":
            return re.search(argument, found, re.DOTALL) is None
        case "$starts":
            return bool(found.startswith(argument))
        case "$json":
            check(argument, json.loads(found), where)
            return True
        case "$json_object":
            return isinstance(json.loads(found), dict) is argument
        case _:
            raise ValueError(f"there is no matcher {name}")


def matches(expected: Any, found: Any) -> bool:
    """Whether `check` would pass."""
    try:
        check(expected, found)
    except AssertionError:
        return False
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(expected: Any, found: Any) -> bool:
    if _is_number(expected) and _is_number(found):
        return bool(expected == found)
    return type(expected) is type(found) and bool(expected == found)


def _say(holds: bool, wanted: str, found: Any, where: str) -> None:
    if not holds:
        shown = repr(found)
        if len(shown) > 500:
            shown = f"{shown[:500]}… ({len(shown)} characters)"
        raise AssertionError(f"{where}: wanted {wanted}, found {shown}")
