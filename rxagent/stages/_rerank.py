from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from reactivex import Observable
from reactivex import operators as ops

from rxagent.choices import check_callable
from rxagent.operators import concat_each, just
from rxagent.retrieval import Document
from rxagent.retrieval.once import one
from rxagent.stages._reordered import reordered
from rxagent.stages._retrieval import Retrieval
from rxagent.stages._stage import Stage
from rxagent.tools.rules import check_count

__all__ = ["Relevance", "rerank"]

Relevance: TypeAlias = Callable[
    [str, tuple[Document, ...]], Observable[Sequence[float]]
]
"""How well documents answer a question: a number for each, in their order."""


def rerank(relevance: Relevance, *, top_n: int | None = None) -> Stage:
    """Sort what was found by another measure, such as that of a cross-encoder.

    ::

        --r--------|
        [ rerank(relevance, top_n=2) ]    relevance takes 2
        ----s------|                      s has the best two documents of r

    Search for many with `retrieve`, and keep the few that are really about it.

    Args:
        relevance: Gets the main query and the documents, and emits a number for each;
            more is better.  A function that blocks belongs into a thread: see
            `rxagent.runtime.from_thread`.
        top_n: How many stay; by default all.

    Returns:
        A stage.  Documents get the numbers as their scores; where two are equal, they
        stay in their order.  Without documents nothing is asked.  A wrong number of
        numbers is a `RetrievalError`; an error is the error of the stream.

    Raises:
        ConfigurationError: If ``relevance`` is no function, or ``top_n`` less than 1.
    """
    check_callable("relevance", relevance, may_be_none=False)
    if top_n is not None:
        check_count("top_n", top_n, least=1)

    def sort(retrieval: Retrieval) -> Observable[Retrieval]:
        documents = retrieval.documents
        if not documents:
            return just(retrieval)

        def told(scores: Sequence[float]) -> Retrieval:
            best = reordered(documents, scores, top_n=top_n)
            return replace(retrieval, documents=best)

        scores = relevance(retrieval.queries[0], documents)
        return one("relevance", scores).pipe(ops.map(told))

    settings = "" if top_n is None else f"top_n={top_n}"
    return Stage(name="rerank", operator=concat_each(sort), settings=settings)
