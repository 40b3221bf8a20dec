"""What the tools of a round leave in the context of the turn."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from rxagent.context import Context, Write

__all__ = ["folded"]

_log = logging.getLogger(__name__)


def folded(context: Context, writes: Iterable[tuple[str, Write]]) -> Context:
    """Fold what tools wrote into a context.

    A key with ``reduce`` folds what is there with each write; without, the last write
    counts, and a logged warning names the tools whose writes were lost.

    Args:
        context: Before.
        writes: Each with the name of its tool, in the order of the calls.

    Returns:
        The context after.  What a ``reduce`` raises is raised.
    """
    writers: dict[str, str] = {}
    for tool, write in writes:
        key, value = write.key, write.value
        if key.reduce is None:
            other = writers.get(key.name, tool)
            if key.name in writers and context[key.name] != value:
                _log.warning(
                    "tool %r overwrites %r, which tool %r wrote in the same round; "
                    "give the key a reduce to keep both",
                    tool,
                    key.name,
                    other,
                )
        elif context.get(key) is not None and value is not None:
            value = key.reduce(context[key], value)
        writers[key.name] = tool
        context = context.set(key, value)
    return context
