"""An index of documents in a collection of Qdrant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from uuid import NAMESPACE_OID, uuid5

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException
from reactivex import Observable

from rxagent.choices import check_callable
from rxagent.errors import RetrievalError
from rxagent.integrations.qdrant.payload import condition, document_of, payload_of
from rxagent.operators import concat_each, just
from rxagent.retrieval import Document, Filter, Query
from rxagent.retrieval.embedding import (
    Vector,
    check_length,
    check_similarity,
    unit_vectors,
)
from rxagent.retrieval.given import check_filter, chosen, last_of_each
from rxagent.retrieval.matching import predicate
from rxagent.retrieval.query import check_query
from rxagent.runtime import from_thread
from rxagent.tools.rules import check_count
from rxagent.types import Embedder

__all__ = ["QdrantDocuments"]

T = TypeVar("T")

_VECTOR = "text"
_SOME_TEXT = "text"
_PAGE = 1_000


class QdrantDocuments:
    """Documents in a collection of Qdrant, found by their meaning.

    The collection is made when the first document comes.  Filters become conditions of
    Qdrant; what Qdrant cannot say is looked at here, page by page.  For a large
    collection on a server make a payload index of keywords on ``fields``.

    Args:
        client: Stays yours to close.  That of a folder, or of ``":memory:"``, takes one
            thread alone.
        collection: Its name; it belongs to this index.
        embedder: The same one as long as the collection lives.
        min_similarity: Least cosine of what is found.
        threads: How many requests go to a server at once.

    Raises:
        ConfigurationError: If an option makes no sense.
    """

    def __init__(
        self,
        client: QdrantClient,
        collection: str,
        embedder: Embedder,
        *,
        min_similarity: float = 0.0,
        threads: int = 1,
    ) -> None:
        check_callable("embedder", embedder, may_be_class=False, may_be_none=False)
        check_similarity("min_similarity", min_similarity)
        check_count("threads", threads, least=1)
        self._client = client
        self._collection = collection
        self._embedder = embedder
        self._min_similarity = min_similarity
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="rxagent-qdrant")

    def add(self, documents: Sequence[Document]) -> Observable[int]:
        """Keep documents; see `DocumentIndex.add`."""
        last = last_of_each(documents)

        def write(vectors: tuple[Vector | None, ...]) -> Observable[int]:
            def with_lengths(others: tuple[Vector | None, ...]) -> Observable[int]:
                made = (each for each in (*vectors, *others) if each is not None)
                lengths = [len(each) for each in made]
                return self._use(lambda: self._write(last, vectors, lengths))

            if not last:
                return just(0)
            # A collection is made for vectors of some length, though it have none yet.
            texts = () if any(vectors) else (_SOME_TEXT,)
            return self._vectors(texts).pipe(concat_each(with_lengths))

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
            return self._use(lambda: self._nearest(wanted, query))

        return self._vectors([query.text]).pipe(concat_each(search))

    def delete(self, which: Iterable[str] | Filter) -> Observable[int]:
        """Forget documents; see `DocumentIndex.delete`."""
        wanted = chosen(which)

        def delete() -> int:
            if not self._is_there():
                return 0
            found = wanted if isinstance(wanted, tuple) else [*self._named(wanted)]
            points = [*{_point(each): None for each in found}]  # each counts once
            if not points:
                return 0
            there = self._client.retrieve(self._collection, points, with_payload=False)
            self._client.delete(
                self._collection, models.PointIdsList(points=[*points]), wait=True
            )
            return len(there)

        return self._use(delete)

    def ids(self, which: Filter) -> Observable[tuple[str, ...]]:
        """Name documents; see `DocumentIndex.ids`."""
        check_filter("ids", which)

        def name() -> tuple[str, ...]:
            return tuple(sorted(self._named(which))) if self._is_there() else ()

        return self._use(name)

    def _vectors(self, texts: Sequence[str]) -> Observable[tuple[Vector | None, ...]]:
        return unit_vectors(self._embedder, texts)

    def _write(
        self,
        documents: Sequence[Document],
        vectors: Sequence[Vector | None],
        lengths: Sequence[int],
    ) -> int:
        if not self._is_there():
            if not lengths:
                raise RetrievalError(
                    "the embedder makes only zeros, and a collection of Qdrant must "
                    "know how long a vector is"
                )
            for each in lengths:  # a collection is never of another length again
                check_length(each, lengths[0])
            self._make(lengths[0])
        there = self._length()
        for each in lengths:
            check_length(each, there)
        self._client.upsert(
            self._collection,
            [
                models.PointStruct(
                    id=_point(document.id),
                    vector={} if vector is None else {_VECTOR: [*vector]},
                    payload=payload_of(document),
                )
                for document, vector in zip(documents, vectors, strict=True)
            ],
            wait=True,
        )
        return len(documents)

    def _make(self, length: int) -> None:
        params = models.VectorParams(size=length, distance=models.Distance.COSINE)
        try:
            self._client.create_collection(
                self._collection, vectors_config={_VECTOR: params}
            )
        except (ApiException, ValueError):
            if not self._is_there():  # nobody else was faster
                raise

    def _is_there(self) -> bool:
        return self._client.collection_exists(self._collection)

    def _length(self) -> int:
        config = self._client.get_collection(self._collection).config.params.vectors
        params = config.get(_VECTOR) if isinstance(config, dict) else None
        if params is None:
            raise RetrievalError(
                f"the collection {self._collection!r} of Qdrant is none of an index; "
                "choose another name"
            )
        return params.size

    def _nearest(self, wanted: Vector, query: Query) -> tuple[Document, ...]:
        if not self._is_there():
            return ()
        check_length(len(wanted), self._length())
        fits = None if query.filter is None else predicate(query.filter)
        found: list[Document] = []
        start, limit = 0, query.top_k
        while True:
            page = self._client.query_points(
                self._collection,
                query=[*wanted],
                using=_VECTOR,
                query_filter=None if query.filter is None else condition(query.filter),
                limit=limit,
                offset=start,
                score_threshold=self._min_similarity,
            ).points
            for point in page:
                document = document_of(point.payload or {}, score=point.score)
                if fits is None or fits(document.metadata):
                    found.append(document)
            if len(page) < limit or len(found) >= query.top_k:
                return tuple(found[: query.top_k])
            start, limit = start + limit, min(2 * limit, _PAGE)

    def _named(self, which: Filter) -> Iterator[str]:
        offset: object = None
        fits = predicate(which)
        while True:
            page, offset = self._client.scroll(
                self._collection,
                scroll_filter=condition(which),
                limit=_PAGE,
                offset=offset,  # type: ignore[arg-type]
            )
            for point in page:
                document = document_of(point.payload or {})
                if fits(document.metadata):
                    yield document.id
            if offset is None:
                return

    def _use(self, act: Callable[[], T]) -> Observable[T]:
        def run() -> T:
            try:
                return act()
            except (ApiException, ValueError, RuntimeError) as error:
                if isinstance(error, RetrievalError):
                    raise
                raise RetrievalError(
                    f"the collection {self._collection!r} of Qdrant cannot be used: "
                    f"{_first_line(error)}"
                ) from error

        return from_thread(run, pool=self._pool)


def _point(name: str) -> str:
    """The id of a point, which may be no text of ours."""
    return str(uuid5(NAMESPACE_OID, name))


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
