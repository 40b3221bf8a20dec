"""A conversation cut until it fits, the open turn too if nothing else helps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

from rxagent.memory.tokens import CountTokens
from rxagent.memory.turns import split_turns
from rxagent.memory.windows import is_kept, newest
from rxagent.messages import AssistantMessage, Message, SystemMessage

__all__ = ["fitted"]


def fitted(
    messages: Sequence[Message], *, max_tokens: int, count: CountTokens
) -> tuple[Message, ...]:
    """Drop the oldest of a conversation until the rest fits.

    Args:
        messages: Oldest first.
        max_tokens: Of all that is left, instructions included.
        count: The tokens of one message.

    Returns:
        All instructions, and the newest turns that fit.  If the last turn alone is too
        long, the oldest of its rounds go, each with its results; its question and its
        last round stay, even if they do not fit.  Turns with a message that is marked
        ``"pinned"`` or ``"summary"`` stay too.
    """

    def size(turn: Sequence[Message]) -> int:
        return sum(map(count, turn))

    system = [each for each in messages if isinstance(each, SystemMessage)]
    turns = [*split_turns(messages)]
    left = max_tokens - size(system)
    kept = newest(turns, limit=left, size=size)
    if len(kept) <= 1 + sum(map(is_kept, kept[:-1])):
        left -= sum(map(size, kept[:-1]))
        kept[-1:] = [_shortened(turn, left, count) for turn in kept[-1:]]
    return (*system, *chain.from_iterable(kept))


def _shortened(
    turn: tuple[Message, ...], max_tokens: int, count: CountTokens
) -> tuple[Message, ...]:
    """A turn without as many of its oldest rounds as are too many."""
    answers = [n for n, each in enumerate(turn) if isinstance(each, AssistantMessage)]
    sizes = [*map(count, turn)]
    too_much = sum(sizes) - max_tokens
    cut = answers[0] if answers else 0
    for start, end in pairwise(answers):
        if too_much <= 0:
            break
        too_much -= sum(sizes[start:end])
        cut = end
    return (*turn[: answers[0]], *turn[cut:]) if answers else turn
