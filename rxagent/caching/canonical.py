"""Values as text: the same text only if they are equal and of one kind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import cast
from uuid import UUID

from rxagent.errors import RequestError

__all__ = ["canonical"]

_PLAIN = (str, int, float, bool)
_NAMED = (datetime, date, time, timedelta, Decimal, PurePath, UUID)


def canonical(value: object) -> str:
    """Write a value, so that it can be compared and digested.

    Args:
        value: ``None``, texts, numbers, truths, bytes, dates, paths, ids, dataclasses
            (the fields that count for equality), and mappings, lists, sets and
            enumerations of such.

    Returns:
        Text in ASCII.  The order of a mapping or a set is all the same; a tuple is as
        good as a list, and 1 is neither 1.0 nor True.

    Raises:
        RequestError: If it is of another type, or holds itself.
    """
    try:
        return _written(value)
    except RecursionError:
        raise RequestError("a value that holds itself has no digest") from None


def _written(value: object) -> str:
    if value is None or type(value) in _PLAIN:
        return json.dumps(value)
    if isinstance(value, bytes | bytearray):
        return f"bytes({value.hex()})"
    if isinstance(value, Enum):
        # A flag of several, or of an unknown one, may have no name of its own.
        return _kind(value) + _written((value.name, value.value))
    if isinstance(value, _NAMED):
        return f"{_kind(value)}({json.dumps(str(value))})"
    if is_dataclass(value) and not isinstance(value, type):
        named = {each.name: each for each in fields(value) if each.compare}
        return _kind(value) + _mapping({name: getattr(value, name) for name in named})
    if isinstance(value, Mapping):
        return _mapping(cast("Mapping[object, object]", value))
    if isinstance(value, Set):
        items = sorted(map(_written, cast("Set[object]", value)))
        return f"set[{','.join(items)}]"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{','.join(map(_written, cast('Sequence[object]', value)))}]"
    raise RequestError(
        f"a {_kind(value)} has no digest; use text, numbers, or a dataclass of them"
    )


def _mapping(value: Mapping[object, object]) -> str:
    items = sorted(f"{_written(key)}:{_written(each)}" for key, each in value.items())
    return "{" + ",".join(items) + "}"


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
