"""One ranking out of several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TypeAlias

import reactivex
from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import ConfigurationError
from rxagent.retrieval.document import Document
from rxagent.retrieval.found import check_found
from rxagent.retrieval.given import check_documents
from rxagent.retrieval.once import one
from rxagent.retrieval.query import Query, Retriever, check_query, check_retriever
from rxagent.tools.rules import check_count

__all__ = ["fused", "hybrid"]

_Ranking: TypeAlias = tuple[int, tuple[Document, ...]]

_DAMPING = 60  # how little the first places are worth more than those behind them


def hybrid(*retrievers: Retriever, candidates: int = 20) -> Retriever:
    """Ask several retrievers at once, and fuse what they find by its ranks.

    ::

        by_words      --(abc,|)
        by_vector     -----(bad,|)
        [ hybrid(by_words, by_vector) ]
                      -----(bacd,|)

    Args:
        retrievers: One or more.
        candidates: How many each is asked for at least; more than ``top_k``, so that
            what is second everywhere can come first.

    Returns:
        A retriever; see `fused` for its order.  The error of one is the error of all,
        and disposing stops all.

    Raises:
        ConfigurationError: If there is no retriever, one is none, or ``candidates`` is
            less than 1.
    """
    if not retrievers:
        raise ConfigurationError("hybrid needs at least one retriever")
    for each in retrievers:
        if isinstance(each, Sequence):
            raise ConfigurationError("hybrid takes one by one: hybrid(*retrievers)")
        check_retriever("hybrid", each)
    check_count("candidates", candidates, least=1)

    def retrieve(query: Query) -> Observable[tuple[Document, ...]]:
        check_query(query)
        deeper = replace(query, top_k=max(query.top_k, candidates))
        found = [
            one("a retriever", retriever(deeper)).pipe(ops.map(_numbered(number)))
            for number, retriever in enumerate(retrievers)
        ]

        def fuse(rankings: list[_Ranking]) -> tuple[Document, ...]:
            in_order = sorted(rankings, key=itemgetter(0))
            return fused(ranking for _, ranking in in_order)[: query.top_k]

        return reactivex.merge(*found).pipe(ops.to_list(), ops.map(fuse))

    return retrieve


def _numbered(number: int) -> Callable[[tuple[Document, ...]], _Ranking]:
    def numbered(ranking: tuple[Document, ...]) -> _Ranking:
        check_found("a retriever", ranking)
        return number, ranking

    return numbered


def fused(rankings: Iterable[Sequence[Document]]) -> tuple[Document, ...]:
    """Fuse rankings by reciprocal ranks.

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet
    and individual Rank Learning Methods", SIGIR 2009.

    Args:
        rankings: Each with the best document first; their scores do not count.

    Returns:
        Each id once, with the sum of ``1 / (60 + rank)`` over the rankings as its
        score, the best first.  Equal ones stay in the order in which they came.
    """
    first: dict[str, Document] = {}
    scores: dict[str, float] = {}
    for ranking in rankings:
        check_documents("fused takes a list, with", ranking)
        seen: set[str] = set()
        for rank, document in enumerate(ranking, start=1):
            if document.id in seen:
                continue
            seen.add(document.id)
            first.setdefault(document.id, document)
            score = scores.get(document.id, 0.0) + 1 / (_DAMPING + rank)
            scores[document.id] = score
    best = sorted(first.values(), key=lambda each: scores[each.id], reverse=True)
    return tuple(replace(each, score=scores[each.id]) for each in best)
