from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import mul

from reactivex import Observable
from reactivex import operators as ops

from rxagent.choices import check_callable
from rxagent.errors import ConfigurationError
from rxagent.operators import concat_each, just
from rxagent.retrieval.embedding import Vector, unit_vectors
from rxagent.stages._retrieval import Retrieval
from rxagent.stages._stage import Stage
from rxagent.tools.rules import check_count
from rxagent.types import Embedder


def diversify(embedder: Embedder, *, top_n: int, balance: float = 0.5) -> Stage:
    """Keep documents that are about the question and not all the same.

    ::

        --r--------|
        [ diversify(embedder, top_n=3) ]  embedder takes 2
        ----s------|                      s has three documents of r

    Maximal marginal relevance: one after the other, the document that is closest to the
    question, less what it has in common with those that were taken already.

    Args:
        embedder: Makes vectors of the main query and of the documents.
        top_n: How many stay.
        balance: Between 1, closeness to the question alone, and 0, difference alone.

    Returns:
        A stage.  Where two are equal, the one that came first is taken first.  An error
        of the embedder is the error of the stream; disposing stops it.

    Raises:
        ConfigurationError: If ``embedder`` is no function, or a number makes no sense.

    Source: Carbonell and Goldstein, "The Use of MMR, Diversity-Based Reranking for
    Reordering Documents and Producing Summaries", SIGIR 1998.
    """
    check_callable("embedder", embedder, may_be_class=False, may_be_none=False)
    check_count("top_n", top_n, least=1)
    weight: object = balance
    if not isinstance(weight, int | float) or not 0 <= balance <= 1:
        raise ConfigurationError(f"balance must be from 0 to 1, got {balance!r}")

    def choose(retrieval: Retrieval) -> Observable[Retrieval]:
        documents = retrieval.documents
        if not documents:
            return just(retrieval)

        def told(vectors: tuple[Vector | None, ...]) -> Retrieval:
            question, *others = vectors
            places = _chosen(question, others, top_n=top_n, balance=balance)
            return replace(
                retrieval, documents=tuple(documents[place] for place in places)
            )

        texts = [retrieval.queries[0], *(each.text for each in documents)]
        return unit_vectors(embedder, texts).pipe(ops.map(told))

    return Stage(
        name="diversify",
        operator=concat_each(choose),
        settings=f"top_n={top_n}, balance={balance}",
    )


def _chosen(
    question: Vector | None,
    others: Sequence[Vector | None],
    *,
    top_n: int,
    balance: float,
) -> Sequence[int]:
    """The places of the vectors that are taken, in the order of taking."""
    closeness = [_product(question, each) for each in others]
    in_common = [0.0] * len(others)  # with the nearest of those that are taken
    left, taken = list(range(len(others))), list[int]()

    def worth(place: int) -> float:
        return balance * closeness[place] - (1 - balance) * in_common[place]

    while left and len(taken) < top_n:
        best = max(left, key=worth)
        taken.append(best)
        left.remove(best)
        for place in left:
            common = _product(others[best], others[place])
            # The first may be less than nothing: opposites have less in common.
            before = in_common[place] if len(taken) > 1 else common
            in_common[place] = max(before, common)
    return taken


def _product(a: Vector | None, b: Vector | None) -> float:
    """The cosine of two vectors; what says nothing has nothing in common."""
    return sum(map(mul, a, b), start=0.0) if a and b else 0.0
