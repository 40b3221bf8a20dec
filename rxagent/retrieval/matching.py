"""Whether a document is what a filter wants: what every translation is judged by."""

from __future__ import annotations

from collections.abc import Callable
from operator import ge, gt, le, lt
from typing import Any, TypeAlias, assert_never

from rxagent.retrieval.document import Metadata
from rxagent.retrieval.filters import AllOf, AnyOf, Compared, Filter, Listed, Null
from rxagent.retrieval.merging import merged
from rxagent.retrieval.scalars import Typed, each_of, kind_of, typed

__all__ = ["matches", "predicate"]

_Predicate: TypeAlias = Callable[[Metadata], bool]

_ORDER: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def matches(wanted: Filter, metadata: Metadata) -> bool:
    """Whether a filter lets a document through.

    Args:
        wanted: The filter.
        metadata: Of the document.

    Returns:
        As `Compared` and its like say.
    """
    return predicate(wanted)(metadata)


def predicate(wanted: Filter) -> _Predicate:
    """What `matches` says of one filter, for many documents: its lists are read once.

    Args:
        wanted: The filter.

    Returns:
        A function of metadata.
    """
    return _predicate(merged(wanted))


def _predicate(wanted: Filter) -> _Predicate:
    match wanted:
        case AllOf():
            every = [*map(_predicate, wanted.parts)]
            return lambda metadata: all(each(metadata) for each in every)
        case AnyOf():
            some = [*map(_predicate, wanted.parts)]
            return lambda metadata: any(each(metadata) for each in some)
        case Null():
            field, is_null = wanted.field, not wanted.negated
            return lambda metadata: (metadata.get(field) is None) is is_null
        case Listed():
            return _one_of(wanted.field, wanted.typed, negated=wanted.negated)
        case Compared(is_="==" | "!="):
            value = frozenset((typed(wanted.value),))
            return _one_of(wanted.field, value, negated=wanted.is_ == "!=")
        case Compared():
            return _ordered(wanted)
        case _:
            assert_never(wanted)


def _one_of(field: str, known: frozenset[Typed], *, negated: bool) -> _Predicate:
    def test(metadata: Metadata) -> bool:
        found = metadata.get(field)
        if found is None:
            return False
        return known.isdisjoint(map(typed, each_of(found))) is negated

    return test


def _ordered(wanted: Compared) -> _Predicate:
    field, value, kind = wanted.field, wanted.value, kind_of(wanted.value)
    compare = _ORDER[wanted.is_]

    def test(metadata: Metadata) -> bool:
        found = metadata.get(field)
        if not isinstance(found, str | int | float | bool):
            return False
        return kind == kind_of(found) and compare(found, value)

    return test
