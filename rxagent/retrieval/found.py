"""What was found, looked at before anybody reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from rxagent.errors import DocumentError, RetrievalError
from rxagent.retrieval.document import Document
from rxagent.retrieval.filters import Filter
from rxagent.retrieval.matching import predicate

__all__ = ["check_found"]


def check_found(who: str, found: object, wanted: Filter | None = None) -> None:
    """Refuse what is no list of documents, or holds one that a filter excludes.

    A retriever of somebody's own may not know filters, and a stage may have another
    query: what it finds belongs to somebody else then.

    Args:
        who: Has found it; for the error.
        found: Anything.
        wanted: What each document must be like; by default, anything.

    Raises:
        DocumentError: If the filter excludes one; names it, and not what stands in it.
        RetrievalError: If they are no documents.
    """
    are_listed = isinstance(found, tuple | list)
    may_be = None if wanted is None else predicate(wanted)
    for each in cast("Sequence[object]", found) if are_listed else (found,):
        if not are_listed or not isinstance(each, Document):
            what = f"a {type(each).__name__}"
            raise RetrievalError(
                f"{who} emitted {f'a list with {what}' if are_listed else what}"
                ", and it has to emit one tuple of documents"
            )
        if may_be is not None and not may_be(each.metadata):
            raise DocumentError(
                each.id,
                f"came from {who}, and the filter excludes it: what finds documents "
                "has to apply the filter of its query, and to give each document the "
                "metadata that the filter looks at; if it cannot, leave out the filter",
            )
