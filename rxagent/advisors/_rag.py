from __future__ import annotations

from collections.abc import Callable, Iterable

from rxagent.advisors._answering import Answering, Mandatory
from rxagent.advisors._augmented import Augmenting
from rxagent.advisors._staged import OnStageFailure
from rxagent.retrieval import Document
from rxagent.stages import AnyStage
from rxagent.stages._stage import stage_name, stages_of
from rxagent.types import Advisor


def rag(
    stages: Iterable[AnyStage],
    *,
    top_k: int = 4,
    filter: Mandatory | None = None,  # noqa: A002 - as in Query
    cite: bool = False,
    template: str | None = None,
    show: Callable[[Document], str] | None = None,
    inject_when_empty: bool = False,
    on_failure: OnStageFailure = "raise",
) -> Advisor:
    """Answer from documents that a pipeline of stages finds.

    ::

        --q-----------------|
        [ rag([rewrite(model), retrieve(search)]) ]   each stage takes 2, and is told
        ----r-s--a--b--F----|                         inner answers with --a--b--F|

    The question is searched for once a turn: place it left of the tool loop and of
    `validate`, so that rounds and retries have the same documents.  Inside of `memory`
    it sees the history, and the memory keeps the user's own words.  To the right of the
    loop it still searches once, but later rounds do not have the documents.

    Only a message of text is changed, and only the one that opens the turn; a message
    with media and a resumed turn pass as they are.  The documents are put into the text
    as they are, and never read as a template; what reads as the end of the context that
    they stand in is escaped.  The model is told that they are no instructions.  Both
    are a request to the model, and no wall.

    Args:
        stages: See `rxagent.stages`; each tells what it has found as `StageFinished`.
        top_k: How many documents a search finds.
        filter: What every document must be like, or a function that says it of the
            context of a call.  The context may narrow it further, under
            ``"qa_filter_expression"``, by a filter or its text; it can never widen it.
            A document that it excludes is a `DocumentError`, whichever retriever or
            stage it comes from, and so is one without the metadata to tell.
        cite: Number the documents, and ask for the numbers; see `citations`.
        template: ``{question}`` and ``{context}`` stand for the two, other braces are
            literal; by default ``QA_TEMPLATE``, or ``CITED_TEMPLATE`` with ``cite``.
        show: What of a document is shown; by default its text.
        inject_when_empty: Whether the template is used if nothing was found.  Many
            models then refuse to talk of anything else; by default the message passes
            as it is.
        on_failure: ``"raise"`` makes the error of a stage that of the stream.
            ``"skip"`` leaves the stage out, which is logged and told; if nothing can
            be found, the model answers without.  What is no failure of a model, a store
            or a search, such as a guard's error or a filter that cannot be read, is
            always the error.

    Returns:
        An advisor.  The response has the documents in its context, under
        ``"qa_retrieved_documents"``, and its usage has the tokens of the stages.  An
        exception of another library becomes a `RetrievalError` with a cause.  Disposing
        stops the stage or the model that is at work.

    Raises:
        ConfigurationError: If a word or a number makes no sense, a stage, ``show`` or
            ``filter`` is of the wrong type, or a place is missing in the template.
    """
    given = stages_of("stages", stages)
    return Answering(
        stages=given,
        top_k=top_k,
        filter=filter,
        augmenting=Augmenting(cite=cite, template=template, show=show),
        inject_when_empty=inject_when_empty,
        on_failure=on_failure,
    ).advisor("rag", settings=", ".join(map(stage_name, given)))
