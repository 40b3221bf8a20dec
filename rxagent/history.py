"""The JSON door of conversations and paused turns: to text and back, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic import ValidationError as PydanticError
from pydantic_core import PydanticSerializationError

from rxagent.errors import HistoryError, SnapshotError
from rxagent.messages import Message
from rxagent.snapshots import Snapshot

__all__ = ["dump_messages", "dump_snapshot", "load_messages", "load_snapshot"]

T = TypeVar("T")

_Discriminated = Annotated[Message, Field(discriminator="role")]


_STRICT = ConfigDict(extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")
_HISTORY: TypeAdapter[tuple[Message, ...]] = TypeAdapter(
    tuple[_Discriminated, ...], config=_STRICT
)
# One in a tuple, as a dataclass by itself takes no settings from here.
_SNAPSHOT: TypeAdapter[tuple[Snapshot]] = TypeAdapter(tuple[Snapshot], config=_STRICT)


def dump_messages(messages: Iterable[Message]) -> bytes:
    """Encode a conversation.

    Args:
        messages: Oldest first.

    Returns:
        A JSON array as UTF-8; media as base64.  Half of a surrogate pair, which UTF-8
        cannot say, becomes U+FFFD.
    """
    return _dumped(_HISTORY, tuple(messages))


def _dumped(adapter: TypeAdapter[T], value: T) -> bytes:
    try:
        return adapter.dump_json(value)
    except PydanticSerializationError:
        plain = adapter.dump_python(value, mode="json")
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return whole.encode()


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


def dump_snapshot(snapshot: Snapshot) -> bytes:
    """Encode a paused turn.

    Args:
        snapshot: Of a response with ``finish_reason="paused"``.

    Returns:
        A JSON object as UTF-8; media as base64.  Half of a surrogate pair, which UTF-8
        cannot say, becomes U+FFFD.
    """
    return _dumped(_SNAPSHOT, (snapshot,))[1:-1]


def load_snapshot(data: bytes | str) -> Snapshot:
    """Decode a paused turn that `dump_snapshot` encoded.

    Args:
        data: A JSON object.

    Returns:
        An equal snapshot.

    Raises:
        SnapshotError: If it is anything else; says where and what was found.
    """
    text = data if isinstance(data, str) else data.decode(errors="replace")
    try:
        return _SNAPSHOT.validate_json(f"[{text}]")[0]
    except PydanticError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"][1:]) or "the document"
        raise SnapshotError(
            f"this is no paused turn that can be read: {where}: {first['msg']}"
        ) from None
