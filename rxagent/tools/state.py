"""What the tools of a round leave in the context of the turn."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from rxagent.context import Context, Key, Write
from rxagent.errors import ToolError
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
        The context after.

    Raises:
        ToolError: If a ``reduce`` raises.
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
            value = _reduced(key, context[key], value, tool=call.name)
        writers[key.name] = call
        context = context.set(key, value)
    return context


def _reduced(key: Key[Any], old: object, new: object, *, tool: str) -> object:
    assert key.reduce is not None
    try:
        reduced: object = key.reduce(old, new)
    except Exception as error:
        raise ToolError(
            tool, f"wrote {key.name!r}, and the key's reduce failed: {error}"
        ) from error
    return reduced


def _is_same(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - arrays and tables have no one answer
        return False
