"""A conversation, taken apart where one turn ends and the next begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rxagent.messages import Message, SystemMessage, UserMessage

__all__ = ["is_pinned", "split_turns"]


def split_turns(messages: Iterable[Message]) -> Iterator[tuple[Message, ...]]:
    """Take a conversation apart into its turns.

    Args:
        messages: Oldest first.

    Yields:
        A user's message, or several in a row, with all that follows until the next one.
        A summary is a turn of its own.  Instructions are left out; what comes before
        the first user's message is a turn without one.
    """
    turn: list[Message] = []
    for message in messages:
        if isinstance(message, SystemMessage):
            continue
        if turn and isinstance(message, UserMessage) and _ends_turn(turn[-1]):
            yield tuple(turn)
            turn = []
        turn.append(message)
    if turn:
        yield tuple(turn)


def is_pinned(turn: Iterable[Message]) -> bool:
    """Whether a message of ``turn`` is marked as one that is never left out."""
    return any(each.mark == "pinned" for each in turn)


def _ends_turn(last: Message) -> bool:
    return not isinstance(last, UserMessage) or last.mark == "summary"
