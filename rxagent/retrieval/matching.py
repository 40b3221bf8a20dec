"""Whether a document is what a filter wants: what every translation is judged by."""

from __future__ import annotations

from collections.abc import Callable
from operator import ge, gt, le, lt
from typing import Any, assert_never

from rxagent.retrieval.document import Metadata
from rxagent.retrieval.filters import AllOf, AnyOf, Compared, Filter, Listed, Null
from rxagent.retrieval.scalars import MetadataValue, each_of, kind_of, typed

__all__ = ["matches"]

_ORDER: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def matches(wanted: Filter, metadata: Metadata) -> bool:
    """Whether a filter lets a document through.

    Args:
        wanted: The filter.
        metadata: Of the document.

    Returns:
        As `Compared` and its like say.
    """
    match wanted:
        case AllOf():
            return all(matches(each, metadata) for each in wanted.parts)
        case AnyOf():
            return any(matches(each, metadata) for each in wanted.parts)
        case Null():
            return (metadata.get(wanted.field) is None) is not wanted.negated
        case Listed():
            found = metadata.get(wanted.field)
            if found is None:
                return False
            return wanted.typed.isdisjoint(map(typed, each_of(found))) is wanted.negated
        case Compared():
            return _is(metadata.get(wanted.field), wanted)
        case _:
            assert_never(wanted)


def _is(found: MetadataValue, wanted: Compared) -> bool:
    if found is None:
        return False
    if wanted.is_ in ("==", "!="):
        is_equal = typed(wanted.value) in map(typed, each_of(found))
        return is_equal is (wanted.is_ == "==")
    if not isinstance(found, str | int | float | bool):
        return False
    if kind_of(wanted.value) != kind_of(found):
        return False
    return _ORDER[wanted.is_](found, wanted.value)
