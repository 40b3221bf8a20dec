from __future__ import annotations

from collections.abc import Callable

from rxagent.advisors._answering import Answering, Mandatory
from rxagent.advisors._augmented import Augmenting
from rxagent.advisors._staged import OnStageFailure
from rxagent.retrieval import Document, Retriever
from rxagent.stages import retrieve
from rxagent.types import Advisor


def question_answer(
    retriever: Retriever,
    *,
    top_k: int = 4,
    filter: Mandatory | None = None,  # noqa: A002 - as in Query
    cite: bool = False,
    template: str | None = None,
    show: Callable[[Document], str] | None = None,
    inject_when_empty: bool = False,
    on_failure: OnStageFailure = "raise",
) -> Advisor:
    """Answer from the documents that are found with the user's own words.

    ::

        --q-----------------|
        [ question_answer(index.search) ]   searching takes 2, and is told
        ----r--a--b--F------|               inner answers with --a--b--F|

    It is `rag` with the one stage ``retrieve(retriever)``, and what is said there of
    places, of errors and of what is put into the message holds here.

    Args:
        retriever: Such as the ``search`` of an index.
        top_k: How many documents it finds at most.
        filter: As of `rag`.
        cite: As of `rag`.
        template: As of `rag`.
        show: As of `rag`.
        inject_when_empty: As of `rag`.
        on_failure: As of `rag`.

    Returns:
        An advisor.

    Raises:
        ConfigurationError: As of `rag`.
    """
    return Answering(
        stages=(retrieve(retriever),),
        top_k=top_k,
        filter=filter,
        augmenting=Augmenting(cite=cite, template=template, show=show),
        inject_when_empty=inject_when_empty,
        on_failure=on_failure,
    ).advisor("question_answer", settings=f"top_k={top_k}")
