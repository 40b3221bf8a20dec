"""How much of a conversation a model sees: its newest turns, each of them whole.

A window cuts between turns and nowhere else, so a call keeps its results, no answer
stands without its question, and the turn that is open is never cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from rxagent.memory.tokens import CountTokens, estimate_tokens
from rxagent.memory.turns import is_pinned, split_turns
from rxagent.messages import Message, SystemMessage, UserMessage
from rxagent.tools.rules import check_count

__all__ = ["Window", "is_kept", "last_messages", "last_tokens", "last_turns", "newest"]

Window: TypeAlias = Callable[[tuple[Message, ...]], tuple[Message, ...]]
"""Takes a conversation, oldest first, and returns what of it a model sees."""


def last_messages(n: int) -> Window:
    """Keep the newest turns that have at most ``n`` messages together.

    Args:
        n: Messages; instructions are not counted.

    Returns:
        A window.  The newest instructions come first, and older ones not at all.  The
        last turn is kept, however long it is; so is one with a message that is marked
        ``"pinned"`` or ``"summary"``, on top of the others if it is too old for them.

    Raises:
        ConfigurationError: If ``n`` is less than 1.
    """
    return _Newest("last_messages", n, len)


def last_turns(n: int) -> Window:
    """Keep the newest ``n`` turns.

    Args:
        n: Turns, the open one included; instructions are none.

    Returns:
        A window, as of `last_messages`.

    Raises:
        ConfigurationError: If ``n`` is less than 1.
    """
    return _Newest("last_turns", n, lambda _: 1)


def last_tokens(n: int, *, count: CountTokens = estimate_tokens) -> Window:
    """Keep the newest turns that have at most ``n`` tokens together.

    Args:
        n: Tokens; instructions are not counted.
        count: The tokens of one message.

    Returns:
        A window, as of `last_messages`.

    Raises:
        ConfigurationError: If ``n`` is less than 1.
    """
    return _Newest("last_tokens", n, lambda turn: sum(map(count, turn)))


@dataclass(frozen=True, slots=True, repr=False)
class _Newest:
    name: str
    limit: int
    size: Callable[[tuple[Message, ...]], int]

    def __post_init__(self) -> None:
        check_count("n", self.limit, least=1)

    def __call__(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """What of ``messages`` a model sees."""
        turns = newest([*split_turns(messages)], limit=self.limit, size=self.size)
        system = [each for each in messages if isinstance(each, SystemMessage)]
        return (*system[-1:], *chain.from_iterable(turns))

    def __repr__(self) -> str:
        return f"{self.name}({self.limit})"


def newest(
    turns: list[tuple[Message, ...]],
    *,
    limit: int,
    size: Callable[[tuple[Message, ...]], int],
) -> list[tuple[Message, ...]]:
    """Choose the newest turns that fit.

    Args:
        turns: Oldest first.
        limit: Of what ``size`` counts, together.
        size: Of a turn; asked for as many as fit, and one more.

    Returns:
        The last turn, those before it that fit, and any that is kept.
    """
    kept = turns[-1:]
    left = limit - sum(map(size, kept))
    for turn in reversed(turns[:-1]):
        if left > 0:
            left -= size(turn)
            if left < 0:
                left = 0  # all that is older is left out, were it ever so short
            elif isinstance(turn[0], UserMessage):
                kept.append(turn)
                continue
        if is_kept(turn):
            kept.append(turn)
    return kept[::-1]


def is_kept(turn: tuple[Message, ...]) -> bool:
    """Whether ``turn`` stays, however old it is: it is pinned, or a summary."""
    return is_pinned(turn) or any(each.mark == "summary" for each in turn)
