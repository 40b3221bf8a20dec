"""The values that metadata holds and filters compare, the same in every index."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Literal, TypeAlias

__all__ = [
    "Kind",
    "MetadataValue",
    "Scalar",
    "Typed",
    "each_of",
    "kind_of",
    "order_problem",
    "problem_of",
    "typed",
]

Scalar: TypeAlias = str | int | float | bool
"""A text, a number or a truth."""

MetadataValue: TypeAlias = Scalar | Sequence[Scalar] | None
"""What metadata holds: a value, a list of values, or nothing."""

Kind: TypeAlias = Literal["text", "number", "truth"]
"""Values of two kinds are never equal, and none is less than the other."""

_LEAST, _MOST = -(2**63), 2**63 - 1  # what every database counts to

Typed: TypeAlias = tuple[Kind, Scalar]
"""A value with its kind."""


def kind_of(value: Scalar) -> Kind:
    """The kind of a value; Python's own ``True == 1`` does not hold here."""
    if isinstance(value, bool):
        return "truth"
    return "text" if isinstance(value, str) else "number"


def typed(value: Scalar) -> Typed:
    """What is equal to that of another value if the two are equal."""
    return kind_of(value), value


def each_of(value: MetadataValue) -> Sequence[Scalar]:
    """The values of a list, a value by itself, or none."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str | int | float | bool) else value


def problem_of(value: object) -> str | None:
    """Why not every index can keep a value.

    Args:
        value: Of metadata, of a filter, or a text.

    Returns:
        What it is; ``None`` if it can be kept.
    """
    match value:
        case bool():
            return None
        case str():
            if "\0" in value:
                return "a text with NUL"
            try:
                value.encode()
            except UnicodeEncodeError:
                return "a text with half a surrogate pair"
            return None
        case int():
            return None if _LEAST <= value <= _MOST else "a number of over 64 bits"
        case float():
            return None if isfinite(value) else f"the number {value}"
        case _:
            return f"a {type(value).__name__}"


def order_problem(is_: str, value: Scalar) -> str | None:
    """Why a comparison with a value says nothing.

    Args:
        is_: The comparison, such as ``<``.
        value: One that documents can have.

    Returns:
        What is wrong and what to do; ``None`` if nothing is.
    """
    if is_ in ("==", "!=") or not isinstance(value, bool):
        return None
    return f"a truth has no order, so nothing is {is_} {value}; use == or !="
