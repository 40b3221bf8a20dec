"""The JSON door of conversations: messages to text and back, nothing lost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic import ValidationError as PydanticError

from rxagent.errors import HistoryError
from rxagent.messages import Message

__all__ = ["dump_messages", "load_messages"]

_Discriminated = Annotated[Message, Field(discriminator="role")]


_HISTORY: TypeAdapter[tuple[Message, ...]] = TypeAdapter(
    tuple[_Discriminated, ...],
    config=ConfigDict(extra="forbid", ser_json_bytes="base64", val_json_bytes="base64"),
)


def dump_messages(messages: Iterable[Message]) -> bytes:
    """Encode a conversation.

    Args:
        messages: Oldest first.

    Returns:
        A JSON array as UTF-8; media as base64.
    """
    return _HISTORY.dump_json(tuple(messages))


def load_messages(data: bytes | str) -> tuple[Message, ...]:
    """Decode a conversation that `dump_messages` encoded.

    Args:
        data: A JSON array of messages.

    Returns:
        Equal messages with the same ids.

    Raises:
        HistoryError: If it is anything else; says where and what was found.
    """
    try:
        return _HISTORY.validate_json(data)
    except PydanticError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"]) or "the document"
        raise HistoryError(where, first["msg"], problems=error.error_count()) from None
