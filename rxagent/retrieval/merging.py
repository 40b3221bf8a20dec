"""Filters with fewer parts, that let the same documents through."""

from __future__ import annotations

from collections.abc import Sequence

from rxagent.retrieval.filters import AllOf, AnyOf, Compared, Filter, Listed
from rxagent.retrieval.scalars import Scalar

__all__ = ["merged"]


def merged(wanted: Filter) -> Filter:
    """A filter in which what is compared with many values is compared with a list.

    ``a == 1 OR a == 2`` is ``a IN [1, 2]``, and ``a != 1 AND a != 2`` is
    ``a NOT IN [1, 2]``: as long, and looked up once.

    Args:
        wanted: The filter.

    Returns:
        It has a list where the first of its values was, so what its author put in
        front stays there.
    """
    match wanted:
        case AnyOf():
            return AnyOf.joined(_lists(wanted.parts, negated=False))
        case AllOf():
            return AllOf.joined(_lists(wanted.parts, negated=True))
        case _:
            return wanted


def _lists(parts: Sequence[Filter], *, negated: bool) -> list[Filter]:
    places: list[Filter | str] = []  # a part, or the field whose list stands here
    values: dict[str, list[Scalar]] = {}
    for part in map(merged, parts):
        match part:
            case Listed() if part.negated is negated:
                found = part.values
            case Compared() if part.is_ == ("!=" if negated else "=="):
                found = (part.value,)
            case _:
                places.append(part)
                continue
        if part.field not in values:
            places.append(part.field)
            values[part.field] = []
        values[part.field].extend(found)
    return [
        Listed(field=each, values=tuple(values[each]), negated=negated)
        if isinstance(each, str)
        else each
        for each in places
    ]
