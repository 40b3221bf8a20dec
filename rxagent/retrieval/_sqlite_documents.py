from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

from reactivex import Observable

from rxagent.choices import check_callable
from rxagent.errors import RetrievalError
from rxagent.memory._sqlite_file import SqliteFile
from rxagent.operators import concat_each, just
from rxagent.retrieval._matrix import Matrix, check_numpy
from rxagent.retrieval._sqlite_filter import selected, where
from rxagent.retrieval._sqlite_rows import (
    DOCUMENTS,
    MIGRATIONS,
    delete,
    narrowed,
    read,
    write,
)
from rxagent.retrieval.document import Document
from rxagent.retrieval.embedding import Vector, check_similarity, unit_vectors
from rxagent.retrieval.filters import Filter
from rxagent.retrieval.fusion import hybrid
from rxagent.retrieval.given import check_filter, chosen, last_of_each
from rxagent.retrieval.query import Query, check_query
from rxagent.retrieval.words import query_words
from rxagent.types import Embedder

__all__ = ["SqliteDocuments"]

T = TypeVar("T")


class SqliteDocuments:
    """Documents in one SQLite file, found by their words and by their meaning.

    Words are looked up in SQLite's own full-text index, stemmed for English, with pairs
    of letters for Chinese, Japanese and Korean.  Vectors are compared one by one, in
    memory: exact, and fast up to some hundred thousand of them.

    Any number of threads, indexes and processes of one machine may use the file at the
    same time.  All work is done in one thread of the index, never on the loop.
    Disposing a subscription takes its work off the queue; what has begun is done
    wholly.

    Args:
        path: Of the file, which is made if need be; its folder is not.  ``":memory:"``
            is an index of its own, gone when it is closed.
        embedder: The same one as long as the file lives.  Without one, documents are
            found by their words alone.
        min_similarity: Least cosine of what is found by its meaning.
        busy_timeout_s: How long to wait for another process that writes.

    Raises:
        ConfigurationError: If an option makes no sense, or there is an embedder, and no
            numpy to compare vectors.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        embedder: Embedder | None = None,
        min_similarity: float = 0.0,
        busy_timeout_s: float = 5.0,
    ) -> None:
        check_callable("embedder", embedder, may_be_class=False)
        check_similarity("min_similarity", min_similarity)
        if embedder is not None:
            check_numpy()
        self._embedder = embedder
        self._min_similarity = min_similarity
        self._matrices: dict[sqlite3.Connection, Matrix] = {}
        self._file = SqliteFile(
            path,
            busy_timeout_s=busy_timeout_s,
            migrations=MIGRATIONS,
            application_id=DOCUMENTS,
            failed=_failed,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Wait for what runs, and close the file."""
        self._file.close()
        self._matrices.clear()

    def add(self, documents: Sequence[Document]) -> Observable[int]:
        """Keep documents; see `DocumentIndex.add`."""
        last = last_of_each(documents)

        def keep(vectors: tuple[Vector | None, ...]) -> Observable[int]:
            return self._use(lambda database: write(database, last, vectors))

        return self._vectors([each.text for each in last]).pipe(concat_each(keep))

    def search(self, query: Query) -> Observable[tuple[Document, ...]]:
        """Find documents by words, and by meaning if there is an embedder.

        See `DocumentIndex.search`.
        """
        if self._embedder is None:
            return self.by_words(query)
        return hybrid(self.by_words, self.by_vector)(query)

    def by_words(self, query: Query) -> Observable[tuple[Document, ...]]:
        """Find documents that have words of the query; rare ones count more.

        Args:
            query: Words and filter.

        Returns:
            Emits them once, the best first.
        """
        check_query(query)
        words = " OR ".join(f'"{each}"' for each in query_words(query.text))
        if not words or not query.top_k:
            return just(())

        def search(database: sqlite3.Connection) -> tuple[Document, ...]:
            condition, parameters = narrowed(query.filter)
            database.execute("BEGIN")  # all is read at one version
            with database:
                found = database.execute(
                    "SELECT rowid, -bm25(words) AS score FROM words "
                    f"WHERE words MATCH ? AND {condition} "
                    "ORDER BY score DESC, rowid LIMIT ?",
                    (words, *parameters, query.top_k),
                )
                return read(database, found.fetchall())

        return self._use(search)

    def by_vector(self, query: Query) -> Observable[tuple[Document, ...]]:
        """Find documents that mean much the same.

        Args:
            query: Words and filter.

        Returns:
            Emits them once, the closest first; none if there is no embedder.
        """
        check_query(query)

        def search(
            vectors: tuple[Vector | None, ...],
        ) -> Observable[tuple[Document, ...]]:
            [wanted] = vectors
            if wanted is None or not query.top_k:
                return just(())
            return self._use(lambda database: self._nearest(database, wanted, query))

        return self._vectors([query.text]).pipe(concat_each(search))

    def delete(self, which: Iterable[str] | Filter) -> Observable[int]:
        """Forget documents; see `DocumentIndex.delete`."""
        wanted = chosen(which)

        def forget(database: sqlite3.Connection) -> int:
            database.execute("BEGIN IMMEDIATE")
            with database:
                return delete(database, wanted)

        return self._use(forget)

    def ids(self, which: Filter) -> Observable[tuple[str, ...]]:
        """Name documents; see `DocumentIndex.ids`."""
        check_filter("ids", which)

        def name(database: sqlite3.Connection) -> tuple[str, ...]:
            condition, parameters = where(which)
            found = database.execute(
                f"SELECT id FROM documents WHERE {condition} ORDER BY id", parameters
            )
            return tuple(each.decode() for (each,) in found)

        return self._use(name)

    def _vectors(self, texts: Sequence[str]) -> Observable[tuple[Vector | None, ...]]:
        embedder = self._embedder
        if embedder is None:
            return just((None,) * len(texts))
        return unit_vectors(embedder, texts)

    def _nearest(
        self, database: sqlite3.Connection, wanted: Vector, query: Query
    ) -> tuple[Document, ...]:
        database.execute("BEGIN")
        with database:
            if database not in self._matrices:
                # The one of a connection that was closed, or of before a fork.
                self._matrices = {database: Matrix(database)}
            matrix = self._matrices[database]
            matrix.follow()
            nearest = matrix.nearest(
                wanted,
                limit=query.top_k,
                least=self._min_similarity,
                among=None if query.filter is None else selected(query.filter),
            )
            return read(database, nearest)

    def _use(self, act: Callable[[sqlite3.Connection], T]) -> Observable[T]:
        def run(database: sqlite3.Connection, _: datetime) -> T:
            return act(database)

        return self._file.use(run)


def _failed(_: str, problem: str) -> RetrievalError:
    return RetrievalError(f"the index {problem}")
