"""A conversation, taken apart where one turn ends and the next begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from rxagent.messages import Message, SystemMessage, UserMessage

__all__ = ["is_pinned", "split_turns", "turn_starts"]


def turn_starts(messages: Iterable[Message]) -> list[int]:
    """Find where the turns of a conversation begin.

    Args:
        messages: Oldest first.

    Returns:
        The positions of what users ask.  Several messages in a row ask together, also
        around instructions.  A summary is no question; what stands before the first
        turn belongs to none.
    """
    starts: list[int] = []
    last: Message | None = None
    for position, message in enumerate(messages):
        if isinstance(message, SystemMessage):
            continue
        if _asks(message) and not (last and _asks(last)):
            starts.append(position)
        last = message
    return starts


def split_turns(messages: Iterable[Message]) -> Iterator[tuple[Message, ...]]:
    """Take a conversation apart into its turns.

    Args:
        messages: Oldest first.

    Yields:
        What `turn_starts` finds, with all that follows until the next one.  A summary
        begins a turn of its own.  Instructions are left out; what comes before the
        first turn is one without a question.
    """
    spoken = [each for each in messages if not isinstance(each, SystemMessage)]
    users = [n for n, each in enumerate(spoken) if isinstance(each, UserMessage)]
    summaries = [n for n in users if spoken[n].mark == "summary"]
    cuts = sorted({0, *turn_starts(spoken), *summaries, len(spoken)})
    for start, end in pairwise(cuts):
        yield tuple(spoken[start:end])


def is_pinned(turn: Iterable[Message]) -> bool:
    """Whether a message of ``turn`` is marked as one that is never left out."""
    return any(each.mark == "pinned" for each in turn)


def _asks(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.mark != "summary"
