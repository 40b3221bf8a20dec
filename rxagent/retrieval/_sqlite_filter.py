"""A filter as SQL over the table ``fields`` of an index; every value is a parameter.

``fields`` has a row for each value of a document: its name and kind, and whether it
stands in a list.  A list has one more, of the kind "list", so that an empty one is
there, too; what is null has none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heapreplace
from itertools import groupby
from typing import TypeAlias, assert_never

from rxagent.errors import RetrievalError
from rxagent.retrieval.document import Document
from rxagent.retrieval.filters import AllOf, AnyOf, Compared, Filter, Listed, Null
from rxagent.retrieval.merging import merged
from rxagent.retrieval.scalars import Kind, Scalar, each_of, kind_of

__all__ = ["FieldRow", "field_rows", "selected", "where"]

FieldRow: TypeAlias = tuple[int, str, str, Scalar, bool]
"""Row of the document, name, kind, value, whether it stands in a list."""

_Sql: TypeAlias = tuple[str, tuple[Scalar, ...]]

_FIELDS = "SELECT row FROM fields WHERE"

_MOST_PARTS = 4_000  # each is a query, and SQLite takes as long as their square


def field_rows(row: int, document: Document) -> Iterator[FieldRow]:
    """The rows of a document in ``fields``.

    Args:
        row: Its own.
        document: With its metadata.
    """
    for name, value in document.metadata.items():
        if value is None:
            continue
        is_list = not isinstance(value, str | int | float | bool)
        if is_list:
            yield row, name, "list", 0, True
        for each in each_of(value):
            yield row, name, kind_of(each), each, is_list


def where(wanted: Filter) -> _Sql:
    """A condition on ``row``, and its parameters.

    Args:
        wanted: The filter.

    Raises:
        RetrievalError: If it has more than 4,000 comparisons that are no list.
    """
    return _where(_prepared(wanted))


def _where(wanted: Filter) -> _Sql:
    match wanted:
        case AllOf():
            return _joined("AND", [_where(each) for each in wanted.parts])
        case AnyOf():
            return _joined("OR", [_where(each) for each in wanted.parts])
        case Null(negated=False):
            return f"row NOT IN ({_FIELDS} name = ?)", (wanted.field,)
        case _:
            condition, parameters = _with_field(wanted)
            return f"row IN ({_FIELDS} {condition})", parameters


def selected(wanted: Filter) -> _Sql:
    """A query for rows of documents, and its parameters.

    A row may come more than once.  If what is wanted has a field for certain, documents
    are not looked at: each costs the page on which its text stands.

    Args:
        wanted: The filter.

    Raises:
        RetrievalError: As of `where`.
    """
    prepared = _prepared(wanted)
    parts = prepared.parts if isinstance(prepared, AllOf) else (prepared,)
    for place, part in enumerate(parts):
        if isinstance(part, AllOf | AnyOf) or part == Null(field=part.field):
            continue  # a document without any field may be wanted
        others = AllOf(parts=(*parts[:place], *parts[place + 1 :]))
        condition, parameters = _joined("AND", [_with_field(part), _where(others)])
        return f"{_FIELDS} {condition}", parameters
    condition, parameters = _where(prepared)
    return f"SELECT row FROM documents WHERE {condition}", parameters


def _prepared(wanted: Filter) -> Filter:
    prepared = merged(wanted)
    if (count := _count(prepared)) > _MOST_PARTS:
        raise RetrievalError(
            f"a filter has {count:,} comparisons, and this index takes "
            f"{_MOST_PARTS:,}; compare a field with many values by a list: "
            "Field(...).is_in([...]), or IN in a text"
        )
    return prepared


def _count(wanted: Filter) -> int:
    return sum(map(_count, wanted.parts)) if isinstance(wanted, AllOf | AnyOf) else 1


def _with_field(wanted: Compared | Listed | Null) -> _Sql:
    """A condition on ``fields``: a document with such a row there is wanted.

    Args:
        wanted: Needs a field, so is no `Null` that is not negated.
    """
    match wanted:
        case Null():
            return "name = ?", (wanted.field,)
        case Listed():
            return _equal(wanted.field, wanted.values, negated=wanted.negated)
        case Compared(is_="==" | "!="):
            return _equal(wanted.field, (wanted.value,), negated=wanted.is_ == "!=")
        case Compared():
            # The operator is one of four words of ours.
            condition = f"name = ? AND kind = ? AND value {wanted.is_} ? AND NOT listed"
            return condition, (wanted.field, kind_of(wanted.value), wanted.value)
        case _:
            assert_never(wanted)


def _equal(field: str, values: Sequence[Scalar], *, negated: bool) -> _Sql:
    conditions: list[_Sql] = []
    for (kind, has_point), group in groupby(sorted(values, key=_sort), key=_sort):
        these: tuple[Scalar, ...] = tuple(group)
        among = ", ".join("?" * len(these))
        # There may be more values than parameters.  But SQLite may round a number with
        # a point that it reads from a text.
        if len(these) > 1 and not has_point:
            among, these = "SELECT value FROM json_each(?)", (json.dumps(these),)
        condition = f"name = ? AND kind = ? AND value IN ({among})"
        conditions.append((condition, (field, kind, *these)))
    any_of, parameters = _joined("OR", conditions)
    if not negated:
        return any_of, parameters
    return f"name = ? AND row NOT IN ({_FIELDS} {any_of})", (field, *parameters)


def _sort(value: Scalar) -> tuple[Kind, bool]:
    return kind_of(value), isinstance(value, float)


def _joined(word: str, parts: Sequence[_Sql]) -> _Sql:
    """The parts as a tree, the two shortest joined first, the longer one on the left.

    SQLite refuses expressions that are over 1,000 deep, and a row of ``AND`` is one.
    And its parser keeps no more than 100 words in mind: one for each level that is on
    the left of an ``AND``, three where it is on the right.
    """
    if not parts:  # all of nothing holds, and any of nothing does not
        return str(word == "AND").upper(), ()
    by_length = [(len(sql), n, sql, of) for n, (sql, of) in enumerate(parts)]
    heapify(by_length)
    while len(by_length) > 1:
        _, n, right, of_right = heappop(by_length)
        _, _, left, of_left = by_length[0]
        both = f"({left} {word} {right})"
        heapreplace(by_length, (len(both), n, both, (*of_left, *of_right)))
    _, _, sql, parameters = by_length[0]
    return sql, parameters
