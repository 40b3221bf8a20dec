"""JSON text as models and providers write it, and as strict servers want it."""

from __future__ import annotations

import json
from math import isfinite
from typing import TypeGuard

from pydantic_core import from_json

from rxagent.wire.surrogates import join_surrogates

__all__ = ["dump_json", "is_array", "is_json", "is_object", "load_json"]

# `json.dumps` makes one at each call, unless it is asked for nothing special.
_compact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def load_json(text: str) -> object:
    r"""Decode JSON, also where a string holds half of a surrogate pair.

    Args:
        text: The whole document.

    Returns:
        Objects as ``dict``, arrays as ``list``.  A lone ``\ud83d`` stays in its string:
        its other half may be in another document.

    Raises:
        ValueError: If it is no JSON; says where.
    """
    try:
        return from_json(text)
    except (ValueError, TypeError):  # TypeError: a lone half outside an escape
        pass
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("too deeply nested") from None


def dump_json(value: object) -> bytes:
    """Encode ``value`` as compact UTF-8 JSON; a lone surrogate becomes U+FFFD.

    Raises:
        ValueError: If it holds what JSON cannot say, such as NaN, or itself.
        TypeError: If it holds an object that is not JSON.
    """
    try:
        text = _compact.encode(value)
    except RecursionError:
        raise ValueError("too deeply nested") from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return join_surrogates(text).encode()


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether decoded JSON is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether decoded JSON is an array."""
    return isinstance(value, list)


def is_json(value: object, *, deepest: int = 100) -> bool:
    """Whether a value is what decoding JSON makes, and so survives being saved.

    Args:
        value: Any; what contains itself is no JSON.
        deepest: How often arrays and objects may stand in one another.
    """
    if is_object(value):
        return all(isinstance(key, str) for key in value) and is_json(
            [*value.values()], deepest=deepest
        )
    if is_array(value):
        return deepest > 0 and all(is_json(v, deepest=deepest - 1) for v in value)
    if isinstance(value, float):
        return isfinite(value)
    return value is None or isinstance(value, str | int)
