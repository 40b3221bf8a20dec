from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from reactivex import Observable
from reactivex import operators as ops

from rxagent.choices import check_callable
from rxagent.errors import ConfigurationError
from rxagent.operators import concat_each
from rxagent.retrieval import Document, Retriever
from rxagent.stages._at_once import at_once
from rxagent.stages._by_rank import by_rank
from rxagent.stages._retrieval import Retrieval
from rxagent.stages._stage import Stage
from rxagent.tools.rules import check_count


def retrieve(
    *retrievers: Retriever,
    top_k: int | None = None,
    join: Callable[[Sequence[Sequence[Document]]], tuple[Document, ...]] = by_rank,
    max_concurrency: int = 4,
) -> Stage:
    """Search for each query with each retriever, all at once, and join what is found.

    ::

        --r--------|
        [ retrieve(index.search) ]        both queries of r take 2
        ----s------|                      s has the documents of both

    Equal queries are one search.  Every search has the filter of the user's query.

    Args:
        retrievers: Such as the ``search`` of an index.
        top_k: How many documents each search finds, and how many stay; by default as
            many as the query says.
        join: Makes one list of several, best first: ``by_rank``, or ``by_score`` where
            all scores are of one kind.
        max_concurrency: Most searches at once.

    Returns:
        A stage; its documents take the place of others.  Blank queries are not searched
        for.  The first error is the error of the stream, and ends the other searches;
        so does disposing.

    Raises:
        ConfigurationError: If there is no retriever, one is no function, or a number is
            less than 1.
    """
    if not retrievers:
        raise ConfigurationError("retrieve needs a retriever, such as index.search")
    for retriever in retrievers:
        check_callable("retrieve", retriever)
    if top_k is not None:
        check_count("top_k", top_k, least=1)
    check_callable("join", join)
    check_count("max_concurrency", max_concurrency, least=1)

    def search(retrieval: Retrieval) -> Observable[Retrieval]:
        limit = retrieval.query.top_k if top_k is None else top_k
        texts = dict.fromkeys(text for text in retrieval.queries if text.strip())
        searches = [
            retriever(replace(retrieval.query, text=text, top_k=limit))
            for text in texts
            for retriever in retrievers
        ]

        def joined(found: tuple[tuple[Document, ...], ...]) -> Retrieval:
            return replace(retrieval, documents=join(found)[:limit])

        return at_once("a retriever", searches, max_concurrency=max_concurrency).pipe(
            ops.map(joined)
        )

    settings = [f"{len(retrievers)} retrievers"] if len(retrievers) > 1 else []
    settings += [f"top_k={top_k}"] if top_k is not None else []
    return Stage(
        name="retrieve", operator=concat_each(search), settings=", ".join(settings)
    )
