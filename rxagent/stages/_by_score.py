from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rxagent.retrieval import Document
from rxagent.retrieval.given import check_documents

_Found: TypeAlias = Sequence[Sequence[Document]]


def by_score(found: _Found) -> tuple[Document, ...]:
    """Join what several searches found by its scores, which must be of one kind.

    Args:
        found: Of each search, the best first.

    Returns:
        Each document once, with its best score; where two are equal, in the order in
        which they were found.  Those without a score come last.
    """
    best: dict[str, Document] = {}
    for documents in found:
        check_documents("by_score takes a list, with", documents)
        for document in documents:
            known = best.setdefault(document.id, document)
            if _key(document) < _key(known):
                best[document.id] = document
    return tuple(sorted(best.values(), key=_key))


def _key(document: Document) -> tuple[bool, float]:
    score = document.score
    return (score is None, -(score or 0.0))
