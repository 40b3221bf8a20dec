"""Which conversation a request belongs to."""

from __future__ import annotations

from typing import Any

from rxagent.context import Context, Key
from rxagent.errors import (
    ConfigurationError,
    ContextTypeError,
    MissingContextError,
)

__all__ = ["CONVERSATION_ID", "check_key", "conversation_id_of"]

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
        ContextTypeError: If its text is a place in memory, which is another one in the
            next process, and may be somebody else's in this one.
    """
    value: object = context[key]
    text = "" if value is None else str(value)
    if not text.strip():
        raise MissingContextError(key.name, hint=key.hint)
    if not isinstance(value, str) and text.startswith("<") and " at 0x" in text:
        raise ContextTypeError(key.name, expected=str, found=type(value))
    return text


def check_key(key: object) -> None:
    """Refuse the bare name of a key.

    Args:
        key: What was given.

    Raises:
        ConfigurationError: If it is no `Key`.
    """
    if not isinstance(key, Key):
        raise ConfigurationError(
            f"key takes a Key, not {key!r}; write Key({key!r}, object)"
        )
