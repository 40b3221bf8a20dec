"""What a semantic cache needs of an index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from reactivex import Observable

from rxagent.retrieval import Document, Filter, Query

__all__ = ["QuestionIndex"]


class QuestionIndex(Protocol):
    """An index of documents that can look by meaning alone.

    `MemoryDocuments` is one, if it has an embedder.  `DocumentIndex` says more of
    `add` and `delete`.
    """

    def add(self, documents: Sequence[Document]) -> Observable[int]:
        """Keep documents; one whose id is there already takes its place."""
        ...

    def by_vector(self, query: Query) -> Observable[tuple[Document, ...]]:
        """Find what is closest, the closest first; scores are cosines."""
        ...

    def delete(self, which: Iterable[str] | Filter) -> Observable[int]:
        """Forget documents."""
        ...
