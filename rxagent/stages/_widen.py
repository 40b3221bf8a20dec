from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from reactivex import Observable
from reactivex import operators as ops

from rxagent.choices import check_callable
from rxagent.operators import concat_each
from rxagent.retrieval import Document
from rxagent.retrieval.matching import predicate
from rxagent.stages._at_once import at_once
from rxagent.stages._retrieval import Retrieval
from rxagent.stages._stage import Stage
from rxagent.tools.rules import check_count


def widen(
    neighbours: Callable[[Document], Observable[tuple[Document, ...]]],
    *,
    max_concurrency: int = 4,
) -> Stage:
    """Put what stands around each document beside it, in the order of the text.

    ::

        --r--------|
        [ widen(neighbours) ]             neighbours takes 2
        ----s------|                      s has more documents

    What a search finds are small pieces; what a model reads well are longer ones.

    Args:
        neighbours: Emits the pieces around a document, itself among them, in the order
            in which they stand in the text.
        max_concurrency: Most documents at once.

    Returns:
        A stage.  Each piece is there once, where the best document that it stands
        beside is; one that the query's filter does not let through is left out, since
        no search has looked at it.  The first error is the error of the stream, and
        disposing stops them all.

    Raises:
        ConfigurationError: If ``neighbours`` is no function, or the number less than 1.
    """
    check_callable("neighbours", neighbours, may_be_none=False)
    check_count("max_concurrency", max_concurrency, least=1)

    def look(retrieval: Retrieval) -> Observable[Retrieval]:
        found = {each.id: each for each in retrieval.documents}

        def told(groups: tuple[tuple[Document, ...], ...]) -> Retrieval:
            wanted = retrieval.query.filter
            fits = None if wanted is None else predicate(wanted)
            pieces = {
                # One that was found keeps its score, wherever it comes from.
                each.id: found.get(each.id, each)
                for each in _flat(groups)
                if fits is None or fits(each.metadata)
            }
            return replace(retrieval, documents=tuple(pieces.values()))

        return at_once(
            "neighbours",
            map(neighbours, retrieval.documents),
            max_concurrency=max_concurrency,
        ).pipe(ops.map(told))

    return Stage(name="widen", operator=concat_each(look))


def _flat(groups: Sequence[Sequence[Document]]) -> Iterator[Document]:
    for group in groups:
        yield from group
