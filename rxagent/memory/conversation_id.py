"""Which conversation a request belongs to."""

from __future__ import annotations

from typing import Any

from rxagent.context import Context, Key
from rxagent.errors import MissingContextError

__all__ = ["CONVERSATION_ID", "conversation_id_of"]

CONVERSATION_ID = Key(
    "rxagent.conversation_id",
    object,
    hint='pass context={"rxagent.conversation_id": ...} with the call',
)
"""The conversation of a turn: a value of any type, whose text is the id in a store."""


def conversation_id_of(context: Context, key: Key[Any] = CONVERSATION_ID) -> str:
    """Return the id of the conversation, as a store takes it.

    Args:
        context: Of the request.
        key: Where the id is.

    Raises:
        MissingContextError: If nothing is there, or ``None``, or a blank text: turns of
            several people must not meet in one conversation by accident.
    """
    value: object = context[key]
    text = "" if value is None else str(value)
    if not text.strip():
        raise MissingContextError(key.name, hint=key.hint)
    return text
