from __future__ import annotations

from collections.abc import Sequence

import reactivex
from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import ConfigurationError
from rxagent.operators import just
from rxagent.retrieval import Document, Query, Retriever
from rxagent.retrieval.once import one
from rxagent.retrieval.query import check_query
from rxagent.stages._retrieval import Retrieval
from rxagent.stages._stage import AnyStage, check_stage, checked


def as_retriever(*stages: AnyStage) -> Retriever:
    """Make a retriever of stages, for whatever takes one.

    ::

        [ as_retriever(*stages)(query) ]
        ----(d,|)                         d has the documents

    Args:
        stages: In their order.

    Returns:
        A retriever.  What its stages know but the documents, it does not tell.

    Raises:
        ConfigurationError: If one is no stage.
    """
    for each in stages:
        if isinstance(each, Sequence):
            raise ConfigurationError(
                "as_retriever takes one by one: as_retriever(*stages)"
            )
        check_stage("as_retriever", each)

    def documents(retrieval: Retrieval) -> tuple[Document, ...]:
        return retrieval.documents

    def retriever(query: Query) -> Observable[tuple[Document, ...]]:
        check_query(query)
        found = reactivex.compose(*map(checked, stages))(just(Retrieval.of(query)))
        return one("the stages", found).pipe(ops.map(documents))

    return retriever
