from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

import reactivex
from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import RetrievalError, StoreError
from rxagent.memory._sqlite_file import SqliteFile
from rxagent.operators import concat_each, just
from rxagent.retrieval._matrix import Matrix, check_numpy, packed
from rxagent.retrieval._sqlite_filter import field_rows, where
from rxagent.retrieval.chosen import chosen
from rxagent.retrieval.document import Document
from rxagent.retrieval.embedding import Vector, check_length, unit_vectors
from rxagent.retrieval.filters import Filter
from rxagent.retrieval.fusion import hybrid
from rxagent.retrieval.query import Query
from rxagent.retrieval.words import query_words, words_of
from rxagent.types import Embedder

__all__ = ["SqliteDocuments"]

T = TypeVar("T")

_DOCUMENTS = 0x72784964  # "rxId"

_MIGRATIONS = (
    (
        # A row that was deleted is never used again; see `Matrix`.
        """
        CREATE TABLE documents (
            row INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            text TEXT NOT NULL,
            metadata TEXT NOT NULL,
            vector BLOB
        )
        """,
        """
        CREATE TABLE fields (
            row INTEGER NOT NULL REFERENCES documents (row) ON DELETE CASCADE,
            name TEXT NOT NULL,
            kind TEXT NOT NULL,
            value NOT NULL,
            listed INTEGER NOT NULL
        )
        """,
        "CREATE INDEX fields_by_value ON fields (name, kind, value, listed, row)",
        "CREATE INDEX fields_by_row ON fields (row)",
        """
        CREATE VIRTUAL TABLE words USING fts5 (
            said, tokenize = 'porter unicode61 remove_diacritics 2'
        )
        """,
    ),
)


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
        ConfigurationError: If there is an embedder, and no numpy to compare vectors.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        embedder: Embedder | None = None,
        min_similarity: float = 0.0,
        busy_timeout_s: float = 5.0,
    ) -> None:
        if embedder is not None:
            check_numpy()
        self._embedder = embedder
        self._min_similarity = min_similarity
        self._matrices: dict[sqlite3.Connection, Matrix] = {}
        self._file = SqliteFile(
            os.fspath(path),
            busy_timeout_s=busy_timeout_s,
            migrations=_MIGRATIONS,
            application_id=_DOCUMENTS,
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
        last = [*{each.id: each for each in documents}.values()]

        def write(vectors: tuple[Vector | None, ...]) -> Observable[int]:
            return self._use(lambda database: _write(database, last, vectors))

        return self._vectors([each.text for each in last]).pipe(concat_each(write))

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
        words = " OR ".join(f'"{each}"' for each in query_words(query.text))
        if not words or not query.top_k:
            return just(())

        def search(database: sqlite3.Connection) -> tuple[Document, ...]:
            condition, parameters = _narrowed(query.filter)
            database.execute("BEGIN")  # all is read at one version
            with database:
                found = database.execute(
                    "SELECT rowid, -bm25(words) AS score FROM words "
                    f"WHERE words MATCH ? AND {condition} "
                    "ORDER BY score DESC, rowid LIMIT ?",
                    (words, *parameters, query.top_k),
                )
                return _read(database, found.fetchall())

        return self._use(search)

    def by_vector(self, query: Query) -> Observable[tuple[Document, ...]]:
        """Find documents that mean much the same.

        Args:
            query: Words and filter.

        Returns:
            Emits them once, the closest first; none if there is no embedder.
        """

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

        def delete(database: sqlite3.Connection) -> int:
            database.execute("BEGIN IMMEDIATE")
            with database:
                return _delete(database, wanted)

        return self._use(delete)

    def ids(self, which: Filter) -> Observable[tuple[str, ...]]:
        """Name documents; see `DocumentIndex.ids`."""

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
        return reactivex.defer(lambda _: unit_vectors(embedder, texts))

    def _nearest(
        self, database: sqlite3.Connection, wanted: Vector, query: Query
    ) -> tuple[Document, ...]:
        rows: list[int] | None = None
        database.execute("BEGIN")
        with database:
            if query.filter is not None:
                condition, parameters = where(query.filter)
                found = database.execute(
                    f"SELECT row FROM documents WHERE {condition}", parameters
                )
                rows = [row for (row,) in found]
            if database not in self._matrices:
                # The one of a connection that was closed, or of before a fork.
                self._matrices = {database: Matrix(database)}
            matrix = self._matrices[database]
            matrix.follow()
            nearest = matrix.nearest(
                wanted, limit=query.top_k, least=self._min_similarity, rows=rows
            )
            return _read(database, nearest)

    def _use(self, act: Callable[[sqlite3.Connection], T]) -> Observable[T]:
        def run(database: sqlite3.Connection, _: datetime) -> T:
            return act(database)

        def failed(error: Exception, _: Observable[T]) -> Observable[T]:
            if isinstance(error, StoreError):
                raise RetrievalError(f"the index {error.problem}") from error
            raise error

        return self._file.use(run).pipe(ops.catch(failed))


def _write(
    database: sqlite3.Connection,
    documents: Sequence[Document],
    vectors: Sequence[Vector | None],
) -> int:
    blobs = [None if each is None else packed(each) for each in vectors]
    lengths = [len(each) for each in vectors if each is not None]
    database.execute("BEGIN IMMEDIATE")
    with database:
        _delete(database, tuple(each.id for each in documents))
        there = database.execute(
            "SELECT length(vector) / 4 FROM documents WHERE vector NOT NULL LIMIT 1"
        ).fetchone()
        for each in lengths:
            check_length(each, lengths[0] if there is None else there[0])
        last = database.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'documents'"
        ).fetchone()
        rows = range(1 if last is None else last[0] + 1, 2**63)
        database.executemany(
            "INSERT INTO documents (row, id, text, metadata, vector) "
            "VALUES (?, ?, ?, ?, ?)",
            (
                (row, each.id, each.text, json.dumps(each.metadata), blob)
                for row, each, blob in zip(rows, documents, blobs, strict=False)
            ),
        )
        database.executemany(
            "INSERT INTO fields (row, name, kind, value, listed) "
            "VALUES (?, ?, ?, ?, ?)",
            (
                field
                for row, each in zip(rows, documents, strict=False)
                for field in field_rows(row, each)
            ),
        )
        database.executemany(
            "INSERT INTO words (rowid, said) VALUES (?, ?)",
            (
                (row, " ".join(words_of(each.text)))
                for row, each in zip(rows, documents, strict=False)
            ),
        )
    return len(documents)


def _delete(database: sqlite3.Connection, which: tuple[str, ...] | Filter) -> int:
    condition, parameters = (
        ("id IN (SELECT value FROM json_each(?))", (json.dumps(which),))
        if isinstance(which, tuple)
        else where(which)
    )
    rows = database.execute(
        f"SELECT row FROM documents WHERE {condition}", parameters
    ).fetchall()
    database.executemany("DELETE FROM words WHERE rowid = ?", rows)
    database.executemany("DELETE FROM documents WHERE row = ?", rows)
    return len(rows)


def _narrowed(wanted: Filter | None) -> tuple[str, Sequence[object]]:
    if wanted is None:
        return "TRUE", ()
    condition, parameters = where(wanted)
    return f"rowid IN (SELECT row FROM documents WHERE {condition})", parameters


def _read(
    database: sqlite3.Connection, found: Sequence[tuple[int, float]]
) -> tuple[Document, ...]:
    documents: list[Document] = []
    for row, score in found:
        name, text, metadata = database.execute(
            "SELECT id, text, metadata FROM documents WHERE row = ?", (row,)
        ).fetchone()
        documents.append(
            Document(
                id=name.decode(),
                text=text.decode(),
                metadata=json.loads(metadata),
                score=score,
            )
        )
    return tuple(documents)
