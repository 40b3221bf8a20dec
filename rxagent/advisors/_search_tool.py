"""The tool with which a model finds tools, and what it leaves in the context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from reactivex import Observable
from reactivex import operators as ops

from rxagent.context import Key
from rxagent.operators import concat_each, just
from rxagent.requests import ToolSpec
from rxagent.search import Search, ToolIndex
from rxagent.search.kept_indexes import KeptIndexes
from rxagent.tools import ToolContext, ToolResult, tool
from rxagent.tools.tool import AnyTool

__all__ = ["DISCOVERED_TOOLS", "SearchTool"]

_DESCRIPTION = (
    "Find more tools. Tools that it finds can be called from the next step on. If the "
    "task needs several abilities, search once for each of them, before you answer."
)

_SHOWN = 100  # characters of a query that found nothing


def _merged(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    return {**old, **new}  # the place of what was there already stays


DISCOVERED_TOOLS: Key[dict[str, int]] = Key(
    "rxagent.discovered_tools", dict, reduce=_merged
)
"""The tools that searches have found: names, in the order of discovery, each with the
number of the round that found it last, counted over the rounds that found any."""


class SearchTool:
    """Makes the search tool of each round.

    Args:
        index: Finds tools.
        limit: Most that one search finds.
    """

    name: ClassVar[str] = "tool_search"

    def __init__(self, index: ToolIndex, *, limit: int) -> None:
        self.index = index
        self._limit = limit
        self._kept = KeptIndexes(index)
        # Reading a signature takes long, so it is not done again for each round.
        self._tool = tool(
            name=self.name, description=f"{_DESCRIPTION} The query: {index.query}."
        )(partial(self._search, ()))

    def over(self, tools: Sequence[ToolSpec]) -> AnyTool:
        """The tool that searches ``tools``."""
        return replace(self._tool, function=partial(self._search, tools))

    def _search(
        self, tools: Sequence[ToolSpec], query: str, context: ToolContext
    ) -> Observable[ToolResult]:
        names = {tool.name for tool in tools}

        def result(found: Sequence[str]) -> ToolResult:
            fit = dict.fromkeys(name for name in found if name in names)
            there = [*fit][: self._limit]
            if not there:
                return _nothing(query)
            before = context.context.get(DISCOVERED_TOOLS) or {}
            # All searches of a round see the same context, so they have one number.
            number = 1 + max(before.values(), default=0)
            context.set(DISCOVERED_TOOLS, dict.fromkeys(there, number))
            listed = ", ".join(there)
            return ToolResult(value=there, content=f"Found, ready to call: {listed}")

        def ask(search: Search) -> Observable[Sequence[str]]:
            return search(query, self._limit)

        if not query.strip():
            return just(_nothing(query))
        found = self._kept.over(tools).pipe(concat_each(ask))
        return found.pipe(ops.default_if_empty(()), ops.map(result))


def _nothing(query: str) -> ToolResult:
    # It is in the model's own call already, however long it is.
    asked = query if len(query) <= _SHOWN else f"{query[:_SHOWN]}..."
    said = f"No tool fits {asked!r}. Search in other words, or go on without."
    return ToolResult(value=[], content=said)
