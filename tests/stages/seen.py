"""Stages, run by themselves."""

from __future__ import annotations

from dataclasses import replace

from rxagent.messages import Message
from rxagent.operators import just
from rxagent.retrieval import Document, Query
from rxagent.runtime import Flow
from rxagent.stages import AnyStage, Retrieval

__all__ = ["after", "begun"]


def begun(
    text: str = "How often is it descaled?",
    *queries: str,
    documents: tuple[Document, ...] = (),
    history: tuple[Message, ...] = (),
) -> Retrieval:
    """A retrieval, as an earlier stage may have left it."""
    beginning = Retrieval.of(Query(text=text, history=history))
    return replace(beginning, queries=queries or beginning.queries, documents=documents)


def after(stage: AnyStage, retrieval: Retrieval | None = None) -> Retrieval:
    """What a stage makes of it."""
    return Flow[Retrieval].of(stage(just(retrieval or begun()))).run()
