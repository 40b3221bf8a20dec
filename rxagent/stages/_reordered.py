"""Documents in the order of other scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rxagent.errors import RetrievalError
from rxagent.retrieval import Document

__all__ = ["reordered"]


def reordered(
    documents: Sequence[Document], scores: Sequence[float], *, top_n: int | None
) -> tuple[Document, ...]:
    """Sort documents by scores; what is equal stays in its order.

    Args:
        documents: In any order.
        scores: One for each, in their order; more is better.
        top_n: How many stay; by default all.

    Returns:
        The best first, each with its score.

    Raises:
        RetrievalError: If there is not one score for each.
    """
    if len(scores) != len(documents):
        raise RetrievalError(
            f"{len(scores)} scores came for {len(documents)} documents; "
            "there has to be one for each"
        )
    order = sorted(range(len(documents)), key=lambda place: -scores[place])
    return tuple(
        replace(documents[place], score=float(scores[place])) for place in order[:top_n]
    )
