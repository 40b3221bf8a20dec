"""An index of documents in a table of PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeAlias, TypeVar

import psycopg
from psycopg.sql import SQL, Composed, Identifier
from reactivex import Observable

from rxagent.choices import check_callable
from rxagent.errors import RetrievalError
from rxagent.integrations.postgres.conditions import column_of, metadata_of, where
from rxagent.operators import concat_each, just
from rxagent.retrieval import Document, Filter, Query
from rxagent.retrieval.embedding import (
    Vector,
    check_length,
    check_similarity,
    unit_vectors,
)
from rxagent.retrieval.given import check_filter, chosen, last_of_each
from rxagent.retrieval.query import check_query
from rxagent.runtime import from_thread
from rxagent.tools.rules import check_count
from rxagent.types import Embedder

__all__ = ["PostgresDocuments"]

T = TypeVar("T")

_Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]

_LOCK = 0x72784964  # whoever makes a table, makes it alone

_MAKE = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    """
    CREATE TABLE IF NOT EXISTS {table} (
        number bigint GENERATED ALWAYS AS IDENTITY,
        id text COLLATE "C" PRIMARY KEY,
        text text NOT NULL,
        metadata jsonb NOT NULL,
        embedding vector
    )
    """,
    "CREATE INDEX IF NOT EXISTS {index} ON {table} USING gin (metadata jsonb_path_ops)",
)


class PostgresDocuments:
    """Documents in a table of PostgreSQL with pgvector, found by their meaning.

    The table is made when it is first used.  Vectors are compared one by one, which is
    exact; for a large table make an index of pgvector, as its documentation says.

    Args:
        url: Of the database, such as ``"postgresql://user@host/name"``.
        embedder: The same one as long as the table lives.
        table: Its name.
        min_similarity: Least cosine of what is found.
        threads: How many connections it uses at once.

    Raises:
        ConfigurationError: If an option makes no sense.
    """

    def __init__(
        self,
        url: str,
        embedder: Embedder,
        *,
        table: str = "documents",
        min_similarity: float = 0.0,
        threads: int = 4,
    ) -> None:
        check_callable("embedder", embedder, may_be_class=False, may_be_none=False)
        check_similarity("min_similarity", min_similarity)
        check_count("threads", threads, least=1)
        self._url = url.replace("postgresql+psycopg://", "postgresql://", 1)
        self._embedder = embedder
        self._names = {"table": Identifier(table), "index": Identifier(f"{table}_json")}
        self._min_similarity = min_similarity
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="rxagent-postgres")
        self._mine = threading.local()
        self._opened: list[_Connection] = []

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
        """Wait for what runs, and close the connections."""
        self._pool.shutdown()
        for connection in self._opened:
            connection.close()

    def add(self, documents: Sequence[Document]) -> Observable[int]:
        """Keep documents; see `DocumentIndex.add`."""
        last = last_of_each(documents)

        def write(vectors: tuple[Vector | None, ...]) -> Observable[int]:
            return self._use(lambda connection: self._write(connection, last, vectors))

        return self._vectors([each.text for each in last]).pipe(concat_each(write))

    def search(self, query: Query) -> Observable[tuple[Document, ...]]:
        """Find documents that mean much the same; see `DocumentIndex.search`."""
        check_query(query)

        def search(
            vectors: tuple[Vector | None, ...],
        ) -> Observable[tuple[Document, ...]]:
            [wanted] = vectors
            if wanted is None or not query.top_k:
                return just(())
            return self._use(
                lambda connection: self._nearest(connection, wanted, query)
            )

        return self._vectors([query.text]).pipe(concat_each(search))

    def delete(self, which: Iterable[str] | Filter) -> Observable[int]:
        """Forget documents; see `DocumentIndex.delete`."""
        wanted = chosen(which)
        condition, parameters = (
            ("id = ANY(%s)", ([*wanted],))
            if isinstance(wanted, tuple)
            else where(wanted)
        )

        def delete(connection: _Connection) -> int:
            statement = self._sql(f"DELETE FROM {{table}} WHERE {condition}")
            return connection.execute(statement, parameters).rowcount

        return self._use(delete)

    def ids(self, which: Filter) -> Observable[tuple[str, ...]]:
        """Name documents; see `DocumentIndex.ids`."""
        check_filter("ids", which)
        condition, parameters = where(which)

        def name(connection: _Connection) -> tuple[str, ...]:
            statement = self._sql(
                f"SELECT id FROM {{table}} WHERE {condition} ORDER BY id"
            )
            found = connection.execute(statement, parameters)
            return tuple(str(name) for (name,) in found)

        return self._use(name)

    def _vectors(self, texts: Sequence[str]) -> Observable[tuple[Vector | None, ...]]:
        return unit_vectors(self._embedder, texts)

    def _write(
        self,
        connection: _Connection,
        documents: Sequence[Document],
        vectors: Sequence[Vector | None],
    ) -> int:
        lengths = [len(each) for each in vectors if each is not None]
        there = self._length(connection) if lengths else None
        for each in lengths:
            check_length(each, there or lengths[0])
        statement = self._sql(
            "INSERT INTO {table} (id, text, metadata, embedding) "
            "VALUES (%s, %s, %s::jsonb, %s::text::vector) "
            "ON CONFLICT (id) DO UPDATE SET text = excluded.text, "
            "metadata = excluded.metadata, embedding = excluded.embedding, "
            "number = DEFAULT"
        )
        with connection.cursor() as cursor:
            cursor.executemany(
                statement,
                [
                    (each.id, each.text, column_of(each.metadata), _shown(vector))
                    for each, vector in zip(documents, vectors, strict=True)
                ],
            )
        return len(documents)

    def _nearest(
        self, connection: _Connection, wanted: Vector, query: Query
    ) -> tuple[Document, ...]:
        length = self._length(connection)
        if length is None:
            return ()
        check_length(len(wanted), length)
        condition, parameters = (
            ("TRUE", ()) if query.filter is None else where(query.filter)
        )
        found = connection.execute(
            self._sql(
                "SELECT id, text, metadata::text, score FROM ("
                "SELECT *, 1 - (embedding <=> %s::text::vector) AS score "
                f"FROM {{table}} WHERE embedding IS NOT NULL AND {condition}) AS near "
                "WHERE score >= %s ORDER BY score DESC, number LIMIT %s"
            ),
            (_shown(wanted), *parameters, self._min_similarity, query.top_k),
        )
        return tuple(
            Document(
                id=str(name),
                text=str(text),
                metadata=metadata_of(str(metadata)),
                score=float(str(score)),
            )
            for name, text, metadata, score in found
        )

    def _length(self, connection: _Connection) -> int | None:
        """Of the vectors that are there."""
        row = connection.execute(
            self._sql(
                "SELECT vector_dims(embedding) FROM {table} "
                "WHERE embedding IS NOT NULL LIMIT 1"
            )
        ).fetchone()
        return None if row is None else int(str(row[0]))

    def _sql(self, text: str) -> Composed:
        return SQL(text).format(**self._names)  # pyright: ignore[reportArgumentType]

    def _use(self, act: Callable[[_Connection], T]) -> Observable[T]:
        def run() -> T:
            try:
                connection = self._connected()
                with connection.transaction():
                    return act(connection)
            except psycopg.Error as error:
                said = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise RetrievalError(
                    f"the index in PostgreSQL cannot be used: {said}"
                ) from None

        return from_thread(run, pool=self._pool)

    def _connected(self) -> _Connection:
        """The connection of this thread, opened anew if it was lost."""
        connection: _Connection | None = getattr(self._mine, "connection", None)
        if connection is None or connection.closed:
            connection = psycopg.connect(self._url, autocommit=True)
            self._opened.append(connection)
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                for statement in _MAKE:
                    connection.execute(self._sql(statement))
            self._mine.connection = connection
        return connection


def _shown(vector: Vector | None) -> str | None:
    return None if vector is None else str([*vector])
