"""What the tools of a round leave in the context of the turn."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from rxagent.context import Context, Write
from rxagent.messages import ToolCall

__all__ = ["folded"]

_log = logging.getLogger(__name__)


def folded(context: Context, writes: Iterable[tuple[ToolCall, Write]]) -> Context:
    """Fold what tools wrote into a context.

    A key with ``reduce`` folds what is there with each write; without, the last write
    counts, and a logged warning names the tools whose writes were lost.

    Args:
        context: Before.
        writes: Each with the call that it comes from, in the order of the calls.

    Returns:
        The context after.  What a ``reduce`` raises is raised.
    """
    writers: dict[str, ToolCall] = {}
    for call, write in writes:
        key, value = write.key, write.value
        if key.reduce is None:
            other = writers.get(key.name, call)
            if other is not call and not _is_same(context[key.name], value):
                _log.warning(
                    "tool %r overwrites %r, which tool %r wrote in the same round; "
                    "give the key a reduce to keep both",
                    call.name,
                    key.name,
                    other.name,
                )
        elif context.get(key) is not None and value is not None:
            value = key.reduce(context[key], value)
        writers[key.name] = call
        context = context.set(key, value)
    return context


def _is_same(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - arrays and tables have no one answer
        return False
