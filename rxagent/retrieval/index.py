"""What every index of documents can do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from reactivex import Observable

from rxagent.retrieval.document import Document
from rxagent.retrieval.filters import Filter
from rxagent.retrieval.query import Query

__all__ = ["DocumentIndex"]


class DocumentIndex(Protocol):
    """Where documents are kept and found.

    Every method returns a cold observable that emits once: calling it does nothing, and
    each subscription does its work.  A failure is the error of the stream, a
    `RetrievalError`, or that of the embedder.  A write is atomic, and searches that
    begin after it was told see it.

    Vectors of an index have one length.  One of another length is a `RetrievalError`,
    though it take the place of the only document: it was made by another embedder.

    `rxagent.testing.assert_index_contract` checks all this, and of vectors
    `assert_vector_contract`.
    """

    def add(self, documents: Sequence[Document]) -> Observable[int]:
        """Keep documents; one whose id is there already takes its place.

        Args:
            documents: Of any number; the last one of an id counts.

        Returns:
            Emits how many ids there were.
        """
        ...

    def search(self, query: Query) -> Observable[tuple[Document, ...]]:
        """Find the documents that fit best, of those that the filter lets through.

        Args:
            query: A text without words finds nothing.

        Returns:
            Emits at most ``top_k`` with their scores, the best first.
        """
        ...

    def delete(self, which: Iterable[str] | Filter) -> Observable[int]:
        """Forget documents.

        Args:
            which: Their ids, or what they are like.

        Returns:
            Emits how many were there.
        """
        ...

    def ids(self, which: Filter) -> Observable[tuple[str, ...]]:
        """Name the documents that a filter lets through.

        Args:
            which: What they are like.

        Returns:
            Emits their ids, in the order of their code points.
        """
        ...
