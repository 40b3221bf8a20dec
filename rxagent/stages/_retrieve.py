from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from reactivex import Observable
from reactivex import operators as ops

from rxagent.choices import check_callable
from rxagent.errors import ConfigurationError
from rxagent.named import name_of
from rxagent.operators import concat_each
from rxagent.retrieval import Document, Retriever, fused
from rxagent.retrieval.found import check_found
from rxagent.retrieval.query import check_retriever
from rxagent.stages._at_once import at_once
from rxagent.stages._retrieval import Retrieval
from rxagent.stages._stage import Stage
from rxagent.tools.rules import check_count


def retrieve(
    retriever: Retriever,
    *,
    top_k: int | None = None,
    join: Callable[[Sequence[Sequence[Document]]], tuple[Document, ...]] = fused,
    max_concurrency: int = 4,
) -> Stage:
    """Search for each query, several at once, and join what is found.

    ::

        --r--------|
        [ retrieve(index.search) ]        both queries of r take 2
        ----s------|                      s has the documents of both

    Equal queries are one search.  Every search has the filter of the user's query, and
    what it finds is held to it.  A document that was found twice is there once, in its
    better place.

    Args:
        retriever: Such as the ``search`` of an index; `rxagent.retrieval.hybrid` makes
            one of several.
        top_k: How many documents each search finds, and how many stay; by default as
            many as the query says.
        join: Makes one list of what several queries found, best first: by the places,
            as ``fused``, or ``by_score``.
        max_concurrency: Most searches at once.

    Returns:
        A stage; its documents take the place of others.  Blank queries are not searched
        for.  The first error is the error of the stream, and ends the other searches;
        so does disposing.  A document that the filter excludes is a `DocumentError`.

    Raises:
        ConfigurationError: If ``retriever`` or ``join`` is no function, or a number is
            less than 1.
    """
    if isinstance(retriever, Stage):
        raise ConfigurationError(
            f"{retriever.name} is a stage, and finds no documents by itself; put it "
            "into a list of stages, such as rag([...]), or make as_retriever(...) of it"
        )
    check_retriever("retriever", retriever)
    check_callable("join", join, may_be_none=False)
    check_count("max_concurrency", max_concurrency, least=1)
    if top_k is not None:
        check_count("top_k", top_k, least=1)

    def search(retrieval: Retrieval) -> Observable[Retrieval]:
        limit = retrieval.query.top_k if top_k is None else top_k
        texts = dict.fromkeys(text for text in retrieval.queries if text.strip())
        searches = [
            retriever(replace(retrieval.query, text=text, top_k=limit))
            for text in texts
        ]

        def joined(found: tuple[tuple[Document, ...], ...]) -> Retrieval:
            for each in found:
                check_found(who, each, retrieval.query.filter)
            # One list is in its order already, and its scores mean something.
            best = found[0] if len(found) == 1 else join(found)
            check_found("join", best)
            once = dict[str, Document]()
            for document in best:
                once.setdefault(document.id, document)
            return replace(retrieval, documents=tuple(once.values())[:limit])

        return at_once(who, searches, max_concurrency=max_concurrency).pipe(
            ops.map(joined)
        )

    who = f"the retriever {name_of(retriever)}"
    settings = "" if top_k is None else f"top_k={top_k}"
    return Stage(name="retrieve", operator=concat_each(search), settings=settings)
