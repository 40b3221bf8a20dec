"""A message as a text of its own, for stores that keep each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rxagent.errors import HistoryError
from rxagent.history import dump_messages, load_messages
from rxagent.messages import Message

__all__ = ["messages_of", "rows_of"]


def rows_of(messages: Iterable[Message]) -> list[bytes]:
    """Encode messages one by one.

    Args:
        messages: Oldest first.

    Returns:
        A JSON object for each, as UTF-8 on one line.
    """
    return [dump_messages((message,))[1:-1] for message in messages]


def messages_of(conversation_id: str, rows: Sequence[bytes]) -> tuple[Message, ...]:
    """Decode what `rows_of` encoded.

    Args:
        conversation_id: Whose they are; for the error.
        rows: Oldest first.

    Returns:
        Equal messages with the same ids and marks.

    Raises:
        HistoryError: If a row is anything else; says which, and what was found.
    """
    try:
        return load_messages(b"[" + b",".join(rows) + b"]")
    except HistoryError as error:
        whole = error
    for position, row in enumerate(rows):
        try:
            load_messages(b"[" + row + b"]")
        except HistoryError as error:
            inside = error.where.partition(".")[2]
            raise HistoryError(
                f"message {position} of conversation {conversation_id!r}",
                f"{inside}: {error.problem}" if inside else error.problem,
                problems=whole.problems,
            ) from None
    raise HistoryError(
        f"conversation {conversation_id!r}: {whole.where}", whole.problem
    )
