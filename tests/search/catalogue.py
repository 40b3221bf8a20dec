"""Tools to be found, and the look of a search over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from reactivex import Observable

from rxagent.requests import ToolSpec
from rxagent.search import ToolIndex
from rxagent.search.tool_index import Search

__all__ = ["found", "spec", "value_of"]

T = TypeVar("T")


def spec(name: str, description: str = "") -> ToolSpec:
    return ToolSpec(name=name, description=description, parameters={"type": "object"})


def value_of(source: Observable[T]) -> T:
    """What ``source`` emits while subscribing."""
    values: list[T] = []
    errors: list[Exception] = []
    source.subscribe(values.append, errors.append)
    if errors:
        raise errors[0]
    (value,) = values
    return value


def found(
    index: ToolIndex, tools: Sequence[ToolSpec], query: str, limit: int = 100
) -> list[str]:
    search: Search = value_of(index.index(tools))
    return [*value_of(search(query, limit))]
