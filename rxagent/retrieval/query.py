"""What is looked for, and what finds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from reactivex import Observable
from reactivex import operators as ops

from rxagent.choices import check_callable, check_text
from rxagent.errors import ConfigurationError
from rxagent.messages import Message
from rxagent.named import name_of
from rxagent.retrieval.document import Document
from rxagent.retrieval.filters import Filter
from rxagent.retrieval.found import check_found
from rxagent.retrieval.given import check_filter
from rxagent.retrieval.once import one
from rxagent.tools.rules import check_count

__all__ = ["Query", "Retriever", "check_query", "check_retriever", "within"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is looked for.

    Args:
        text: In words; one without any finds nothing.
        top_k: How many documents at most.
        filter: What they must be like.  Who searches has to apply it.
        history: What was said before, for what makes a better query of it; oldest
            first.

    Raises:
        ConfigurationError: If ``top_k`` is less than 0, ``text`` is no text, or
            ``filter`` no filter.
    """

    text: str
    top_k: int = 4
    filter: Filter | None = None
    history: tuple[Message, ...] = ()

    def __post_init__(self) -> None:
        check_count("top_k", self.top_k, least=0)
        check_text("what is looked for", self.text)
        if self.filter is not None:
            check_filter("filter", self.filter)

    def within(self, narrower: Filter | None) -> Query:
        """This query, for documents that ``narrower`` lets through as well.

        Args:
            narrower: Is joined with ``and``; it never takes the place of another one.
        """
        if narrower is None:
            return self
        both = narrower if self.filter is None else self.filter & narrower
        return replace(self, filter=both)


Retriever: TypeAlias = Callable[[Query], Observable[tuple[Document, ...]]]
"""Finds documents: a cold observable that emits once, the best ones first."""


def within(retriever: Retriever, mandatory: Filter) -> Retriever:
    """A retriever that sees no other documents, whatever it is asked.

    ::

        mine = within(index.search, Field("tenant") == "ann")
        mine(Query(text="..."))

    Args:
        retriever: Asked with both filters, the query's own and this one.
        mandatory: What every document must be like.

    Returns:
        A retriever.  Filters of queries narrow it, and cannot widen it.  A document
        that comes all the same, from a retriever that does not apply them, is a
        `DocumentError`; so is one without the metadata to show that it may.

    Raises:
        ConfigurationError: If ``mandatory`` is no filter, without which everything
            would be found, or ``retriever`` no function.
    """
    check_retriever("retriever", retriever)
    check_filter("mandatory", mandatory)
    who = f"the retriever {name_of(retriever)}"

    def mine(query: Query) -> Observable[tuple[Document, ...]]:
        asked = query.within(mandatory)

        def checked(found: tuple[Document, ...]) -> tuple[Document, ...]:
            check_found(who, found, asked.filter)
            return found

        return one(who, retriever(asked)).pipe(ops.map(checked))

    return mine


def check_query(given: object) -> None:
    """Refuse to search for what is no query.

    Raises:
        ConfigurationError: If it is none.
    """
    if isinstance(given, Observable):  # it stands where a stage is due
        raise ConfigurationError(
            "a search is no stage; make one of it: retrieve(index.search)"
        )
    if not isinstance(given, Query):
        raise ConfigurationError(
            f"a search takes Query(text=...), not a {type(given).__name__}"
        )


def check_retriever(name: str, given: object) -> None:
    """Refuse what does not find documents.

    Args:
        name: Of what takes it.
        given: Anything.

    Raises:
        ConfigurationError: If it is no function, or an index, which has one.
    """
    may_find = callable(given) and not isinstance(given, type)
    if hasattr(given, "search") and not may_find:
        raise ConfigurationError(
            f"{name} takes the search of an index, not the index; write index.search"
        )
    check_callable(name, given, may_be_none=False)
