"""Documents into an index, and the index brought up to date with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count

import reactivex
from reactivex import Observable, abc
from reactivex import operators as ops

from rxagent.choices import check_callable, check_has, check_text
from rxagent.errors import RequestError, RetrievalError
from rxagent.operators import concat_each, expand_rounds, just
from rxagent.retrieval.document import Document
from rxagent.retrieval.filters import Field
from rxagent.retrieval.given import check_document, check_documents
from rxagent.retrieval.index import DocumentIndex
from rxagent.retrieval.once import one
from rxagent.retrieval.splitting import Splitter, chunk
from rxagent.runtime import from_thread
from rxagent.tools.rules import check_count

__all__ = ["Ingested", "ingest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """How far it is: documents that were read, and what became of their chunks.

    ``kept`` is how many were in the index already.
    """

    documents: int = 0
    added: int = 0
    kept: int = 0
    deleted: int = 0


def ingest(
    documents: Iterable[Document],
    index: DocumentIndex,
    *,
    split: Splitter | None = None,
    collection: str = "documents",
    batch_size: int = 64,
) -> Observable[Ingested]:
    """Bring a collection in an index up to date with its documents.

    ::

        [ ingest(documents, index) ]
        ---1---2---3---(4,|)               one item a batch, and a last one

    What is in the index already stays as it is, and is not embedded again.  So it may
    be repeated at any time, and if it was interrupted it goes on where it was.  When
    all is added, what is in the collection and in no document any more is deleted:
    chunks that have changed, and documents that have vanished.  Until then a search may
    find an old chunk beside the new one.

    Args:
        documents: All of the collection.  They are read one by one, in a thread, as the
            index takes them.  A generator can be ingested once: to go on after an
            error, or to retry, pass what can be iterated anew.
        index: Its chunks have the field ``collection``.
        split: Makes the chunks, such as `split_sentences`.  By default a document is
            one chunk.  An id must tell what is in its chunk.
        collection: The name of what belongs together; others are left alone.
        batch_size: Chunks that are read, embedded and written at once.

    Returns:
        Cold.  Emits how far it is.  If a document cannot be read, a chunk not be
        written, or a method of the index does not emit once, that is the error, and
        nothing is deleted; a `RequestError` if it is
        subscribed again, and ``documents`` could be iterated only once.  Disposing
        stops it before the next batch.

    Raises:
        ConfigurationError: If ``documents`` are no list, ``index`` is none, ``split``
            no function, ``collection`` no text, or ``batch_size`` less than 1.
    """
    check_documents("ingest takes", documents)
    check_has("index", index, "ids", such_as="an index, such as MemoryDocuments()")
    check_callable("split", split)
    check_text("collection", collection)
    check_count("batch_size", batch_size, least=1)
    runs = count()

    def start(_: abc.SchedulerBase) -> Observable[Ingested]:
        # What is left of it would stand for all, and the rest be deleted.
        if isinstance(documents, Iterator) and next(runs):
            raise RequestError(
                "these documents can be read only once, and were; pass a list, or "
                "what can be iterated anew, such as read_folder"
            )
        work = _Work(documents, index, split or _whole, collection, batch_size)
        wanted = Field("collection") == collection
        return one("ids of the index", index.ids(wanted)).pipe(
            concat_each(work.begin),
            expand_rounds(_nothing, _last, lambda _: work.go_on()),
            ops.finally_action(work.close),
        )

    return reactivex.defer(start)


class _Work:
    """One run: what is read, what was there, and how far it is."""

    def __init__(
        self,
        documents: Iterable[Document],
        index: DocumentIndex,
        split: Splitter,
        collection: str,
        batch_size: int,
    ) -> None:
        self._chunks = self._read(documents, split, collection)
        self._index = index
        self._batch_size = batch_size
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="rxagent-ingest")
        self._known: set[str] = set()
        self._seen: set[str] = set()
        self._far = Ingested()
        self._left = True
        self._ended = False

    def begin(self, known: object) -> Observable[Ingested]:
        if not isinstance(known, Collection) or isinstance(known, str):
            raise RetrievalError(
                f"ids of the index emitted a {type(known).__name__}, and it has to "
                "emit all ids as one tuple"
            )
        self._known = {*known}
        return self._next()

    def go_on(self) -> Observable[Ingested] | None:
        if self._left:
            return self._next()
        if self._ended:
            return None
        self._ended = True
        stale = sorted(self._known - self._seen)
        if not stale:
            return just(self._far)
        deleted = one("delete of the index", self._index.delete(stale))
        return deleted.pipe(ops.map(self._deleted))

    def close(self) -> None:
        self._reader.shutdown(wait=False, cancel_futures=True)

    def _next(self) -> Observable[Ingested]:
        batch = from_thread(self._batch, pool=self._reader)
        return batch.pipe(concat_each(self._write))

    def _read(
        self, documents: Iterable[Document], split: Splitter, collection: str
    ) -> Iterator[Document]:
        for document in documents:
            check_document(document)
            metadata = {**document.metadata, "collection": collection}
            parts = split(replace(document, metadata=metadata))
            check_documents("a splitter returns", parts)
            for part in parts:
                check_document(part)
                if part.metadata.get("collection") == collection:
                    yield part
                else:  # it would never be found again, to be kept or deleted
                    known = {**part.metadata, "collection": collection}
                    yield replace(part, metadata=known)
            self._far = replace(self._far, documents=self._far.documents + 1)

    def _batch(self) -> list[Document]:
        new: list[Document] = []
        for _ in range(self._batch_size):
            found = next(self._chunks, None)
            if found is None:
                self._left = False
                break
            if found.id not in self._known and found.id not in self._seen:
                new.append(found)
            else:
                self._far = replace(self._far, kept=self._far.kept + 1)
            self._seen.add(found.id)
        return new

    def _write(self, new: list[Document]) -> Observable[Ingested]:
        def written(_: int) -> Ingested:
            self._far = replace(self._far, added=self._far.added + len(new))
            return self._far

        if not new:
            return just(self._far)
        return one("add of the index", self._index.add(new)).pipe(ops.map(written))

    def _deleted(self, count: int) -> Ingested:
        self._far = replace(self._far, deleted=count)
        return self._far


def _whole(document: Document) -> tuple[Document, ...]:
    return (chunk(document, start=0, end=len(document.text)),)


def _nothing() -> None:
    return None


def _last(_: None, __: Ingested) -> None:
    return None
