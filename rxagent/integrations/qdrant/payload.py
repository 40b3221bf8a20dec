"""What a point says of its document, so that Qdrant can filter by it.

Qdrant has no equality of numbers that are not whole, no order of texts, and paths in
place of names.  So each value is a keyword as well, which tells its name and its kind,
and each number stands under a name without signs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias, assert_never

from qdrant_client import models

from rxagent.retrieval import (
    AllOf,
    AnyOf,
    Compared,
    Document,
    Filter,
    Listed,
    Null,
    Scalar,
)
from rxagent.retrieval.scalars import each_of, kind_of

__all__ = ["condition", "document_of", "payload_of"]

Payload: TypeAlias = Mapping[str, object]


def payload_of(document: Document) -> dict[str, object]:
    """The payload of a point.

    Args:
        document: Whose.
    """
    known = {k: v for k, v in document.metadata.items() if v is not None}
    return {
        "id": document.id,
        "text": document.text,
        # As text: JSON of a payload loses what is a whole number and what is none.
        "metadata": json.dumps(document.metadata),
        "fields": [*_keywords(document)],
        "numbers": {
            _number_key(name): float(value)
            for name, value in known.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        },
    }


def document_of(payload: Payload, *, score: float | None = None) -> Document:
    """The document of a point.

    Args:
        payload: As of `payload_of`.
        score: As it was found.
    """
    return Document(
        id=str(payload["id"]),
        text=str(payload["text"]),
        metadata=json.loads(str(payload["metadata"])),
        score=score,
    )


def condition(wanted: Filter) -> models.Filter:
    """A condition that holds for all points whose documents a filter lets through.

    It may hold for others, too: numbers of over 53 bits are compared as they are
    rounded, and texts have no order.

    Args:
        wanted: The filter.
    """
    match wanted:
        case AllOf():
            return models.Filter(must=[condition(each) for each in wanted.parts])
        case AnyOf():
            return models.Filter(should=[condition(each) for each in wanted.parts])
        case Null():
            there = _has(_keyword(wanted.field))
            if wanted.negated:
                return models.Filter(must=[there])
            return models.Filter(must_not=[there])
        case Listed():
            return _equal(wanted.field, wanted.values, negated=wanted.negated)
        case Compared():
            if wanted.is_ in ("==", "!="):
                values = (wanted.value,)
                return _equal(wanted.field, values, negated=wanted.is_ == "!=")
            kind = kind_of(wanted.value)
            parts = [_has(_keyword(wanted.field, kind))]
            if kind == "number":
                parts.append(_range(wanted))
            return models.Filter(must=[*parts])
        case _:
            assert_never(wanted)


def _equal(field: str, values: tuple[Scalar, ...], *, negated: bool) -> models.Filter:
    # Without any value nothing is equal, and no document has this keyword.
    words = [_keyword(field, kind_of(each), each) for each in values] or ["[]"]
    equal = _has(*words)
    if negated:
        return models.Filter(must=[_has(_keyword(field))], must_not=[equal])
    return models.Filter(must=[equal])


def _has(*keywords: str) -> models.FieldCondition:
    return models.FieldCondition(key="fields", match=models.MatchAny(any=[*keywords]))


def _range(wanted: Compared) -> models.FieldCondition:
    # Both may be rounded, which keeps their order but for making them equal.
    value = float(wanted.value)
    bound = (
        models.Range(lte=value)
        if wanted.is_ in ("<", "<=")
        else models.Range(gte=value)
    )
    return models.FieldCondition(
        key=f"numbers.{_number_key(wanted.field)}", range=bound
    )


def _keywords(document: Document) -> Iterator[str]:
    for name, value in document.metadata.items():
        if value is None:
            continue
        yield _keyword(name)
        if isinstance(value, str | int | float | bool):
            yield _keyword(name, kind_of(value))
        for each in each_of(value):
            yield _keyword(name, kind_of(each), each)


def _keyword(*parts: Scalar) -> str:
    return json.dumps([_whole(each) for each in parts])


def _whole(value: Scalar) -> Scalar:
    """The same number in one way: 1 and 1.0 are equal."""
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


def _number_key(name: str) -> str:
    return f"n{name.encode().hex()}"
