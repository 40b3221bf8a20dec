from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rxagent.retrieval import Document

_Found: TypeAlias = Sequence[Sequence[Document]]

_SMOOTH = 60  # of the paper: the first places count more, but not much more


def by_rank(found: _Found) -> tuple[Document, ...]:
    """Join what several searches found by the places that it had.

    Reciprocal rank fusion: a document that several found comes before one that a single
    one found.  Scores play no part, so searches of any kind may be joined.

    Args:
        found: Of each search, the best first.

    Returns:
        Each document once, as the first one found it; where two are equal, in the order
        in which they were found.

    Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet
    and individual Rank Learning Methods", SIGIR 2009.
    """
    first: dict[str, Document] = {}
    weights: dict[str, float] = {}
    for documents in found:
        ids = dict.fromkeys(each.id for each in documents)  # each once
        for place, name in enumerate(ids, start=1):
            weights[name] = weights.get(name, 0.0) + 1 / (_SMOOTH + place)
        for document in documents:
            first.setdefault(document.id, document)
    return tuple(sorted(first.values(), key=lambda each: -weights[each.id]))
