"""A first look at a piece of text, which costs little and mostly is enough.

Which characters can start a match is found by asking the engine for each: if it does
not look beyond that one character and finds nothing, no text that goes on from there
matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rxagent.guards._engine import Compiled

__all__ = ["first_look", "together"]

_ASCII = [chr(code) for code in range(128)]
_BEFORE = ("", "a", " ", "\n")
"""All that a boundary or the start of a line can see in the character before."""
_COMMON = frozenset("abcdefghijklmnopqrstuvwxyz ")
_MOST = 8  # common characters; a look that mostly finds something is no gain


def first_look(compiled: Compiled) -> re.Pattern[str] | None:
    """Make what finds each place in a piece where a match can start.

    Characters that are not ASCII always can.

    Args:
        compiled: The expression.

    Returns:
        It finds places where none starts, too, yet not many; ``None`` if it would not
        pay, or if there is no saying.
    """
    engine = compiled.start
    if engine is None:
        return None

    def may_start(text: str) -> bool:
        return any(
            engine.match(before + text, len(before), partial=True) for before in _BEFORE
        )

    starts = [char for char in _ASCII if may_start(char)]
    common = sorted(_COMMON.intersection(starts))
    if len(common) > _MOST:
        return None
    expression = rf"[\x80-\U0010ffff{_escaped(starts)}]"
    for char in common:
        ends = [each for each in _ASCII if not may_start(char + each)]
        if ends:
            expression += f"(?<!{re.escape(char)}(?=[{_escaped(ends)}]))"
    return re.compile(expression)


def together(looks: Sequence[re.Pattern[str] | None]) -> re.Pattern[str] | None:
    """Make one look of all; ``None`` if there is none for one of them."""
    expressions = [look.pattern for look in looks if look is not None]
    if len(expressions) < len(looks):
        return None
    return re.compile("|".join(expressions))


def _escaped(characters: Iterable[str]) -> str:
    return "".join(map(re.escape, characters))
