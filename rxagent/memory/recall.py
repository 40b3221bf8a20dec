"""A stored history in front of what is asked, nothing in it twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from rxagent.memory.healing import heal
from rxagent.memory.turns import is_pinned, split_turns
from rxagent.memory.windows import Window
from rxagent.messages import Message, SystemMessage

__all__ = ["recall"]


def recall(
    history: Sequence[Message],
    prompt: Sequence[Message],
    *,
    window: Window | None = None,
) -> tuple[Message, ...]:
    """Put a history in front of a prompt.

    Args:
        history: As it is stored, broken off or not.
        prompt: What is asked now; it may hold some of the history already, or all.
        window: How much of both is kept; the turn that is asked now stays whole.

    Returns:
        Instructions first: the prompt's, or else the newest of the history.  Then what
        was before, from the newest summary on, healed; then the prompt as it is.  What
        the prompt holds is not put in front of it again, whether by its id or, for the
        whole history, as an equal run of messages.  The work is linear in both.
    """
    instructions = [each for each in prompt if isinstance(each, SystemMessage)]
    asked = [each for each in prompt if not isinstance(each, SystemMessage)]
    ids = {each.id for each in asked}
    missing = [each for each in _since_summary(history) if each.id not in ids]
    if _holds_run(asked, history):
        missing = [each for each in missing if isinstance(each, SystemMessage)]
    before = heal(missing)
    if not instructions and before and isinstance(before[0], SystemMessage):
        instructions = [before[0]]
    joined: tuple[Message, ...] = (*_spoken(before), *asked)
    if window is not None:
        kept = _spoken(window(joined))
        open_turn = _open_turn(asked)
        open_ids = {each.id for each in open_turn}
        kept = [each for each in kept if each.id not in open_ids]
        start = next((n for n, each in enumerate(kept) if each.id in ids), len(kept))
        # A window of somebody's own may have cut anywhere.
        joined = (*heal(kept[:start]), *kept[start:], *open_turn)
    return (*instructions, *joined)


def _since_summary(history: Sequence[Message]) -> Sequence[Message]:
    """The newest summary and what follows it; of what is older, what has to stay."""
    for place in range(len(history) - 1, 0, -1):
        if history[place].mark == "summary":
            before = history[:place]
            system = [each for each in before if isinstance(each, SystemMessage)]
            pinned = chain.from_iterable(filter(is_pinned, split_turns(before)))
            return [*system, *pinned, *history[place:]]
    return history


def _open_turn(asked: Sequence[Message]) -> Sequence[Message]:
    """What has to be answered now, with what was done for it already."""
    turns = [*split_turns(asked)]
    return turns[-1] if turns else ()


def _spoken(messages: Iterable[Message]) -> list[Message]:
    return [each for each in messages if not isinstance(each, SystemMessage)]


def _holds_run(prompt: Sequence[Message], history: Sequence[Message]) -> bool:
    """Whether the whole history stands in the prompt, under whatever ids."""
    run = _spoken(history)
    if not run or len(run) > len(prompt):
        return False
    # As letters, so that each message is hashed once and the search is `str`'s own,
    # which is linear whatever it is given.
    letters: dict[Message, str] = {}

    def spelt(messages: Sequence[Message]) -> str:
        return "".join(letters.setdefault(m, chr(len(letters))) for m in messages)

    return spelt(run) in spelt(prompt)
