"""What is looked for, and what finds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from reactivex import Observable

from rxagent.errors import ConfigurationError
from rxagent.messages import Message
from rxagent.retrieval.document import Document
from rxagent.retrieval.filters import Filter
from rxagent.tools.rules import check_count

__all__ = ["Query", "Retriever", "within"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is looked for.

    Args:
        text: In words; one without any finds nothing.
        top_k: How many documents at most.
        filter: What they must be like.
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
        text: object = self.text
        if not isinstance(text, str):
            kind = type(text).__name__
            raise ConfigurationError(f"text takes what is looked for, not a {kind}")
        if self.filter is not None:
            _check_filter("filter", self.filter)

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
        A retriever.  Filters of queries narrow it, and cannot widen it.

    Raises:
        ConfigurationError: If ``mandatory`` is no filter; without one, everything would
            be found.
    """
    _check_filter("mandatory", mandatory)
    return lambda query: retriever(query.within(mandatory))


def _check_filter(name: str, given: object) -> None:
    if not isinstance(given, Filter):
        raise ConfigurationError(
            f"{name} takes a filter, such as Field('tenant') == 'ann' or "
            f"parse_filter(...), not a {type(given).__name__}"
        )
