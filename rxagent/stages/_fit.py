from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from reactivex import operators as ops

from rxagent.choices import check_callable
from rxagent.memory import estimate_tokens
from rxagent.messages import UserMessage
from rxagent.retrieval import Document
from rxagent.stages._retrieval import Retrieval
from rxagent.stages._stage import Stage
from rxagent.tools.rules import check_count


def _estimated(document: Document) -> int:
    return estimate_tokens(UserMessage.of(document.text))


def fit(max_tokens: int, *, count: Callable[[Document], int] = _estimated) -> Stage:
    """Keep the best documents that together are no longer than a model can take.

    ::

        --r--------|
        [ fit(1_000) ]
        --s--------|                      s has documents of 1,000 tokens at most

    Args:
        max_tokens: Of all documents together.
        count: The tokens of one; by default an estimate.

    Returns:
        A stage.  A document that does not fit is left out whole, and a later, shorter
        one may take its place; the order stays.

    Raises:
        ConfigurationError: If the number is less than 1, or ``count`` no function.
    """
    check_count("max_tokens", max_tokens, least=1)
    check_callable("count", count)

    def cut(retrieval: Retrieval) -> Retrieval:
        left, kept = max_tokens, list[Document]()
        for document in retrieval.documents:
            tokens = count(document)
            if tokens <= left:
                left -= tokens
                kept.append(document)
        return replace(retrieval, documents=tuple(kept))

    return Stage(name="fit", operator=ops.map(cut), settings=f"max_tokens={max_tokens}")
