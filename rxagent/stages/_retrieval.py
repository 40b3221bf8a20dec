from __future__ import annotations

from dataclasses import dataclass, field

from rxagent.requests import Origin
from rxagent.retrieval import Document, Query
from rxagent.retrieval.query import check_query
from rxagent.usage import Usage

__all__ = ["Retrieval"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """What is known while documents are looked for; each stage makes a fuller one.

    Args:
        query: What the user asked, in their own words.  Stages pass it on as it is, or
            with a narrower filter; `rxagent.advisors.rag` does not let them widen it.
        queries: What is searched for, the main one first; at first the user's words.
        documents: What was found, the best first.
        usage: Tokens that the stages have cost.
        origin: Of the run, for the events of models that a stage asks.
    """

    query: Query
    queries: tuple[str, ...]
    documents: tuple[Document, ...] = ()
    usage: Usage = field(default_factory=Usage)
    origin: Origin = field(default_factory=Origin, compare=False, repr=False)

    @classmethod
    def of(cls, query: Query, *, origin: Origin | None = None) -> Retrieval:
        """Make the beginning, in which nothing but the query is known."""
        check_query(query)
        return cls(query=query, queries=(query.text,), origin=origin or Origin())
