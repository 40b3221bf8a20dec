"""The shape of what finds tools; bring your own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from reactivex import Observable

from rxagent.requests import ToolSpec

__all__ = ["Search", "ToolIndex"]

Search: TypeAlias = Callable[[str, int], Observable[Sequence[str]]]
"""From a query and a limit to the names of tools, best first; to none if none fits, or
the query is blank."""


class ToolIndex(Protocol):
    """What finds tools for a query.

    It keeps nothing itself: ``index`` makes a search over a list of tools, and whoever
    asked for it keeps that as long as the list stays as it is.
    """

    @property
    def query(self) -> str:
        """What a query is, in the words that a model is told."""
        ...

    def index(self, tools: Sequence[ToolSpec], /) -> Observable[Search]:
        """Return a cold observable of one search over ``tools``."""
        ...
