"""A filter as SQL over a column of JSON; every name and value is a parameter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeAlias, assert_never

from rxagent.retrieval import AllOf, AnyOf, Compared, Filter, Listed, Metadata, Null
from rxagent.retrieval.scalars import MetadataValue, Scalar, kind_of

__all__ = ["column_of", "metadata_of", "where"]

_Sql: TypeAlias = tuple[str, tuple[object, ...]]

_THERE = "coalesce(metadata -> %s <> 'null'::jsonb, FALSE)"


def column_of(metadata: Metadata) -> str:
    """Metadata as the column has it.

    Args:
        metadata: Of a document.
    """
    return json.dumps({name: _exact(value) for name, value in metadata.items()})


def metadata_of(column: str) -> Metadata:
    """Metadata as it was kept.

    Args:
        column: Its text.

    Returns:
        The same, but that whole numbers may have lost their point.
    """
    found: Metadata = json.loads(column, parse_int=_number)
    return found


def where(wanted: Filter) -> _Sql:
    """A condition on the column ``metadata``, never null, and its parameters.

    Args:
        wanted: The filter.
    """
    match wanted:
        case AllOf():
            return _joined(" AND ", [where(each) for each in wanted.parts], none="TRUE")
        case AnyOf():
            return _joined(" OR ", [where(each) for each in wanted.parts], none="FALSE")
        case Null():
            return f"{'' if wanted.negated else 'NOT '}{_THERE}", (wanted.field,)
        case Listed():
            return _equal(wanted.field, wanted.values, negated=wanted.negated)
        case Compared():
            if wanted.is_ in ("==", "!="):
                values = (wanted.value,)
                return _equal(wanted.field, values, negated=wanted.is_ == "!=")
            return _ordered(wanted)
        case _:
            assert_never(wanted)


def _equal(field: str, values: Sequence[Scalar], *, negated: bool) -> _Sql:
    # A scalar that is equal, or a list with it: both can be looked up in an index.
    parts: list[_Sql] = [
        ("metadata @> %s::jsonb", (json.dumps({field: either}),))
        for value in values
        for either in (_exact(value), [_exact(value)])
    ]
    equal, parameters = _joined(" OR ", parts, none="FALSE")
    if not negated:
        return equal, parameters
    return f"({_THERE} AND NOT {equal})", (field, *parameters)


def _ordered(wanted: Compared) -> _Sql:
    kind = kind_of(wanted.value)
    # The operator is one of four words of ours.  Texts in the order of code points.
    value, right, there = (
        ("(metadata ->> %s)::numeric", "%s::text::numeric", "number")
        if kind == "number"
        else ('(metadata ->> %s) COLLATE "C"', "%s::text", "string")
    )
    typed = f"jsonb_typeof(metadata -> %s) = '{there}'"
    given = wanted.value if kind == "text" else json.dumps(_exact(wanted.value))
    return (
        f"(CASE WHEN {typed} THEN {value} {wanted.is_} {right} ELSE FALSE END)",
        (wanted.field, wanted.field, given),
    )


def _joined(word: str, parts: Sequence[_Sql], *, none: str) -> _Sql:
    conditions = word.join(condition for condition, _ in parts) or none
    return f"({conditions})", tuple(each for _, values in parts for each in values)


def _exact(value: MetadataValue) -> object:
    """A number as decimals that are exactly it: Python shortens those of large ones."""
    if isinstance(value, tuple | list):
        return [_exact(each) for each in value]
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**63
    return int(value) if is_whole and isinstance(value, float) else value


def _number(text: str) -> int | float:
    """What was 1e300 comes back as an integer of as many digits."""
    return int(text) if len(text) < 25 else float(text)
