from __future__ import annotations

import reactivex
from reactivex import Observable
from reactivex import operators as ops

from rxagent.operators import just
from rxagent.retrieval import Document, Query, Retriever
from rxagent.retrieval.once import one
from rxagent.stages._retrieval import Retrieval
from rxagent.stages._stage import AnyStage


def as_retriever(*stages: AnyStage) -> Retriever:
    """Make a retriever of stages, for whatever takes one.

    ::

        [ as_retriever(*stages)(query) ]
        ----(d,|)                         d has the documents

    Args:
        stages: In their order.

    Returns:
        A retriever.  What its stages know but the documents, it does not tell.
    """

    def documents(retrieval: Retrieval) -> tuple[Document, ...]:
        return retrieval.documents

    def retriever(query: Query) -> Observable[tuple[Document, ...]]:
        found = reactivex.compose(*stages)(just(Retrieval.of(query)))
        return one("the stages", found).pipe(ops.map(documents))

    return retriever
