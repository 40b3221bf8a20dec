"""Which documents are to be deleted: ids, or a filter."""

from __future__ import annotations

from collections.abc import Iterable

from rxagent.errors import ConfigurationError
from rxagent.retrieval.filters import Filter

__all__ = ["chosen"]


def chosen(which: Iterable[str] | Filter) -> tuple[str, ...] | Filter:
    """What was given, ids as a tuple.

    Raises:
        ConfigurationError: If it is one text, whose letters would be ids.
    """
    if isinstance(which, Filter):
        return which
    if isinstance(which, str):
        raise ConfigurationError("pass a list of ids, not one id")
    return tuple(which)
