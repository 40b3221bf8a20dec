"""What documents must be like: expressions over their metadata.

    Field("year") >= 2020
    (Field("lang") == "de") & ~Field("tags").is_in(["draft", "old"])

There is no node for "not": the opposite of each node is another one, so nothing that
translates filters has to know it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from dataclasses import field as made
from typing import Literal, NoReturn, TypeAlias, cast

from rxagent.choices import check_choice
from rxagent.errors import ConfigurationError
from rxagent.retrieval.scalars import Scalar, Typed, order_problem, problem_of, typed

__all__ = [
    "AllOf",
    "AnyOf",
    "Compared",
    "Comparison",
    "Field",
    "Filter",
    "Listed",
    "Null",
]

Comparison: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]

MAX_DEPTH = 32
"""How many ``&`` and ``|`` may be within each other: every index can say as many."""

_OPPOSITE: dict[Comparison, Comparison] = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}


class _Combined:
    """What can be joined to other filters."""

    __slots__ = ()

    def __and__(self, other: Filter) -> Filter:
        """Both."""
        return AllOf.joined((cast("Filter", self), other))

    def __or__(self, other: Filter) -> Filter:
        """Either or both."""
        return AnyOf.joined((cast("Filter", self), other))

    __rand__, __ror__ = __and__, __or__  # only of what is none

    def __bool__(self) -> NoReturn:
        """Refuse ``and``, ``or`` and ``1 < x < 2``, which would drop a part."""
        raise ConfigurationError(
            "a filter is neither true nor false; join filters with & and |, each in "
            "parentheses, and negate with ~"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(_Combined):
    """A field against a value.

    A field that is missing or null never matches, whatever the comparison is.  Values
    of different kinds, text, number and truth, are not equal, and none is less than the
    other.  A list is equal to each value in it, and less than none.

    Raises:
        ConfigurationError: If ``is_`` is no comparison, no document can have the field
            or the value, or a truth is to be less or greater.
    """

    field: str
    is_: Comparison
    value: Scalar

    def __post_init__(self) -> None:
        check_choice("is_", self.is_, Comparison)
        _check(self.field, (self.value,))
        if problem := order_problem(self.is_, self.value):
            raise ConfigurationError(f"the field {self.field!r}: {problem}")

    def __invert__(self) -> Compared:
        """The opposite; a field that is missing does not match it either."""
        return replace(self, is_=_OPPOSITE[self.is_])


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(_Combined):
    """A field against a list: equal to one of its values, or, negated, to none.

    A field that is missing or null never matches.
    """

    field: str
    values: tuple[Scalar, ...]
    negated: bool = False
    typed: frozenset[Typed] = made(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # An iterator would be empty once it is checked, and then exclude nothing.
        object.__setattr__(self, "values", tuple(self.values))
        _check(self.field, self.values)
        # Once, and not for each document: a list may be long.
        object.__setattr__(self, "typed", frozenset(map(typed, self.values)))

    def __invert__(self) -> Listed:
        """The opposite; a field that is missing does not match it either."""
        return replace(self, negated=not self.negated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Null(_Combined):
    """A field that is missing or null, or, negated, one that is neither."""

    field: str
    negated: bool = False

    def __post_init__(self) -> None:
        _check(self.field, ())

    def __invert__(self) -> Null:
        """The opposite."""
        return replace(self, negated=not self.negated)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf(_Combined):
    """All of the parts match."""

    parts: tuple[Filter, ...]
    depth: int = made(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "depth", _depth(self.parts))

    @classmethod
    def joined(cls, filters: Iterable[Filter]) -> Filter:
        """One filter of several; of one alone, that one."""
        parts = _flat(filters, cls)
        return parts[0] if len(parts) == 1 else cls(parts=parts)

    def __invert__(self) -> AnyOf:
        """The opposite: some part's opposite matches."""
        return AnyOf(parts=tuple(~each for each in self.parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf(_Combined):
    """At least one of the parts matches."""

    parts: tuple[Filter, ...]
    depth: int = made(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "depth", _depth(self.parts))

    @classmethod
    def joined(cls, filters: Iterable[Filter]) -> Filter:
        """One filter of several; of one alone, that one."""
        parts = _flat(filters, cls)
        return parts[0] if len(parts) == 1 else cls(parts=parts)

    def __invert__(self) -> AllOf:
        """The opposite: every part's opposite matches."""
        return AllOf(parts=tuple(~each for each in self.parts))


Filter: TypeAlias = Compared | Listed | Null | AllOf | AnyOf
"""What documents must be like."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A name in the metadata, of which Python's operators make filters.

    Args:
        name: Any text.
    """

    name: str

    def __eq__(self, value: Scalar) -> Compared:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """Equal to a value, or a list with it."""
        return Compared(field=self.name, is_="==", value=value)

    def __ne__(self, value: Scalar) -> Compared:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """There, and not equal to a value, nor a list with it."""
        return Compared(field=self.name, is_="!=", value=value)

    def __lt__(self, value: Scalar) -> Compared:
        """Less than a value of its kind."""
        return Compared(field=self.name, is_="<", value=value)

    def __le__(self, value: Scalar) -> Compared:
        """Less than a value of its kind, or equal."""
        return Compared(field=self.name, is_="<=", value=value)

    def __gt__(self, value: Scalar) -> Compared:
        """Greater than a value of its kind."""
        return Compared(field=self.name, is_=">", value=value)

    def __ge__(self, value: Scalar) -> Compared:
        """Greater than a value of its kind, or equal."""
        return Compared(field=self.name, is_=">=", value=value)

    __hash__ = None  # type: ignore[assignment]  # equality makes a filter

    def __and__(self, other: object) -> NoReturn:
        """Refuse ``a == 1 & b == 2``: ``&`` binds tighter than ``==``."""
        raise _no_part(self if isinstance(other, Filter) else other)

    __or__ = __rand__ = __ror__ = __and__

    def is_in(self, values: Iterable[Scalar]) -> Listed:
        """Equal to one of the values.

        Raises:
            ConfigurationError: If it is one text, whose letters would be the values.
        """
        given: object = values
        if isinstance(given, str) or not isinstance(given, Iterable):
            what = "text" if isinstance(given, str) else "value"
            raise ConfigurationError(
                f"the field {self.name!r} is compared with one {what} where a list is "
                f"due; write is_in([{what}])"
            )
        return Listed(field=self.name, values=tuple(values))

    def not_in(self, values: Iterable[Scalar]) -> Listed:
        """There, and equal to none of the values."""
        return ~self.is_in(values)

    def is_null(self) -> Null:
        """Missing, or null."""
        return Null(field=self.name)

    def is_not_null(self) -> Null:
        """There, and not null."""
        return ~self.is_null()


def _flat(filters: Iterable[Filter], kind: type[AllOf | AnyOf]) -> tuple[Filter, ...]:
    """The filters, with the parts of those that are of ``kind`` in their place."""
    given: object = filters
    if not isinstance(given, Iterable):
        raise _no_part(given)
    return tuple(
        part
        for each in filters
        for part in (each.parts if isinstance(each, kind) else (each,))
    )


def _depth(parts: tuple[Filter, ...]) -> int:
    """Of what has these parts."""
    for each in parts:
        if not isinstance(each, Filter):
            raise _no_part(each)
    inner = (each.depth for each in parts if isinstance(each, AllOf | AnyOf))
    depth = 1 + max(inner, default=0)
    if depth > MAX_DEPTH:
        raise ConfigurationError(
            f"a filter has over {MAX_DEPTH} parts within each other; join many at once "
            "with AllOf.joined or AnyOf.joined, or list values with is_in"
        )
    return depth


def _no_part(given: object) -> ConfigurationError:
    return ConfigurationError(
        f"a {type(given).__name__} is no part of a filter; join comparisons, each in "
        "parentheses: (Field('a') == 1) & (Field('b') == 2)"
    )


def _check(field: object, values: Iterable[object]) -> None:
    is_text = isinstance(field, str)
    if named := problem_of(field) if is_text else f"a {type(field).__name__}":
        raise ConfigurationError(f"a filter cannot look at a field named by {named}")
    for value in values:
        if problem := problem_of(value):
            raise ConfigurationError(
                f"the field {field!r} cannot be compared with {problem}"
            )
