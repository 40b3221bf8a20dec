"""A few documents, and a search that remembers what it was asked."""

from __future__ import annotations

import re
from collections.abc import Iterable

import reactivex
from reactivex import Observable

from rxagent.operators import just
from rxagent.retrieval import Document, Query, matches

__all__ = ["Library", "documents"]


def documents(*texts: str) -> tuple[Document, ...]:
    """Documents with the ids a, b, c, …"""
    return tuple(
        Document(id=chr(ord("a") + number), text=text)
        for number, text in enumerate(texts)
    )


class Library:
    """Finds what shares a word with the query, most words first.

    Args:
        texts: Documents, or texts that become some.
        error: What every search fails with.
    """

    def __init__(self, *texts: str | Document, error: Exception | None = None) -> None:
        self.queries: list[Query] = []
        """Every search, in the order of subscription."""
        self._error = error
        self._documents = [
            each
            if isinstance(each, Document)
            else Document(id=chr(ord("a") + number), text=each)
            for number, each in enumerate(texts)
        ]

    @property
    def asked(self) -> list[str]:
        """What was searched for."""
        return [query.text for query in self.queries]

    def search(self, query: Query) -> Observable[tuple[Document, ...]]:
        """Search."""

        def find(_: object) -> Observable[tuple[Document, ...]]:
            self.queries.append(query)
            if self._error is not None:
                raise self._error
            return just(tuple(self._found(query)[: query.top_k]))

        return reactivex.defer(find)

    def _found(self, query: Query) -> list[Document]:
        wanted = words(query.text)
        seen: Iterable[Document] = self._documents
        if query.filter is not None:
            seen = [each for each in seen if matches(query.filter, each.metadata)]
        hits = [each for each in seen if wanted & words(each.text)]
        return sorted(hits, key=lambda each: -len(wanted & words(each.text)))


def words(text: str) -> set[str]:
    """The longer words of a text."""
    return {word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3}
