from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import nlargest
from math import log
from operator import itemgetter, mul
from typing import TypeAlias

from reactivex import Observable
from reactivex import operators as ops

from rxagent.choices import check_callable
from rxagent.operators import concat_each, just
from rxagent.retrieval.document import Document
from rxagent.retrieval.embedding import (
    Vector,
    check_length,
    check_similarity,
    unit_vectors,
)
from rxagent.retrieval.filters import Filter
from rxagent.retrieval.fusion import hybrid
from rxagent.retrieval.given import check_filter, chosen, last_of_each
from rxagent.retrieval.matching import predicate
from rxagent.retrieval.query import Query, check_query
from rxagent.retrieval.words import query_words, words_of
from rxagent.types import Embedder

__all__ = ["MemoryDocuments"]

_K1, _B = 1.2, 0.75  # BM25: when a word has been said often enough; what length counts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    document: Document
    words: Counter[str]
    length: int
    vector: Vector | None


_Found: TypeAlias = tuple[Document, ...]
_Score: TypeAlias = Callable[[_Kept], float | None]


class MemoryDocuments:
    """Documents in this process, for tests, scripts and some hundreds of them.

    Without an embedder they are found by their words; with one by their meaning too,
    and both rankings are fused.  Every document is looked at in each search, on the
    thread that subscribes.  Safe from several threads.

    Args:
        embedder: The same one as long as the index lives.
        min_similarity: Least cosine of what is found by its meaning.

    Raises:
        ConfigurationError: If an option makes no sense.

    Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
    Beyond", 2009, for the ranking by words; words are not stemmed.
    """

    def __init__(
        self, embedder: Embedder | None = None, *, min_similarity: float = 0.0
    ) -> None:
        check_callable("embedder", embedder, may_be_class=False)
        check_similarity("min_similarity", min_similarity)
        self._embedder = embedder
        self._min_similarity = min_similarity
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def add(self, documents: Sequence[Document]) -> Observable[int]:
        """Keep documents; see `DocumentIndex.add`."""
        last = last_of_each(documents)

        def write(vectors: tuple[Vector | None, ...]) -> int:
            added = {
                document.id: _kept(document, vector)
                for document, vector in zip(last, vectors, strict=True)
            }
            with self._lock:
                _check_lengths((*self._kept.values(), *added.values()))
                self._kept.update(added)
            return len(last)

        texts = [each.text for each in last]
        return self._vectors(texts).pipe(ops.map(write))

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
        return self._once(partial(_bm25, query_words(query.text)), query)

    def by_vector(self, query: Query) -> Observable[tuple[Document, ...]]:
        """Find documents that mean much the same.

        Args:
            query: Words and filter.

        Returns:
            Emits them once, the closest first; none if there is no embedder.
        """
        check_query(query)

        def search(vectors: tuple[Vector | None, ...]) -> Observable[_Found]:
            return self._once(lambda _: partial(self._cosine, vectors[0]), query)

        return self._vectors([query.text]).pipe(concat_each(search))

    def delete(self, which: Iterable[str] | Filter) -> Observable[int]:
        """Forget documents; see `DocumentIndex.delete`."""
        wanted = chosen(which)

        def delete(_: object) -> int:
            with self._lock:
                gone = self._named(wanted)
                for each in gone:
                    del self._kept[each]
            return len(gone)

        return just(None).pipe(ops.map(delete))

    def ids(self, which: Filter) -> Observable[tuple[str, ...]]:
        """Name documents; see `DocumentIndex.ids`."""
        check_filter("ids", which)

        def name(_: object) -> tuple[str, ...]:
            with self._lock:
                return tuple(sorted(self._named(which)))

        return just(None).pipe(ops.map(name))

    def _vectors(self, texts: Sequence[str]) -> Observable[tuple[Vector | None, ...]]:
        embedder = self._embedder
        if embedder is None:
            return just((None,) * len(texts))
        return unit_vectors(embedder, texts)

    def _once(
        self, rank: Callable[[Sequence[_Kept]], _Score], query: Query
    ) -> Observable[_Found]:
        def find(_: object) -> _Found:
            with self._lock:
                every = [*self._kept.values()]
            score = rank(every)
            fits = None if query.filter is None else predicate(query.filter)
            scored = (
                (score(each), each.document)
                for each in every
                if fits is None or fits(each.document.metadata)
            )
            found = ((each, document) for each, document in scored if each is not None)
            best = nlargest(query.top_k, found, key=itemgetter(0))
            return tuple(replace(document, score=each) for each, document in best)

        return just(None).pipe(ops.map(find))

    def _cosine(self, wanted: Vector | None, kept: _Kept) -> float | None:
        if wanted is None or kept.vector is None:
            return None
        check_length(len(wanted), len(kept.vector))
        cosine: float = sum(map(mul, wanted, kept.vector))
        return cosine if cosine >= self._min_similarity else None

    def _named(self, which: tuple[str, ...] | Filter) -> set[str]:
        if isinstance(which, tuple):
            return self._kept.keys() & {*which}
        fits = predicate(which)
        return {
            each for each, kept in self._kept.items() if fits(kept.document.metadata)
        }


def _kept(document: Document, vector: Vector | None) -> _Kept:
    words = Counter(words_of(document.text))
    return _Kept(document=document, words=words, length=words.total(), vector=vector)


def _check_lengths(kept: Iterable[_Kept]) -> None:
    lengths = {len(each.vector): None for each in kept if each.vector is not None}
    if len(lengths) > 1:
        wanted, found, *_ = lengths
        check_length(found, wanted)


def _bm25(wanted: Sequence[str], every: Sequence[_Kept]) -> _Score:
    with_word = {word: sum(word in each.words for each in every) for word in wanted}
    mean = sum(each.length for each in every) / max(len(every), 1)
    weights = {
        word: log(1 + (len(every) - count + 0.5) / (count + 0.5))
        for word, count in with_word.items()
        if count
    }

    def score(kept: _Kept) -> float | None:
        total = 0.0
        for word, weight in weights.items():
            if said := kept.words[word]:
                long = _K1 * (1 - _B + _B * kept.length / mean)
                total += weight * said * (_K1 + 1) / (said + long)
        return total or None

    return score
