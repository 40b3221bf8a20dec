"""How an expression starts, where a look at it tells."""

from __future__ import annotations

import re
from sys import maxsize
from typing import NamedTuple

__all__ = ["Head", "head_of", "sees_one"]

_ONE = r"(?:\[\^?\]?(?:\\.|[^\]\[\\])*\]|\\[wWdDsS]|\\[pP]\{\w+\})"
_TIMES = r"(?:[*+]|\{[0-9]+(?:,[0-9]*)?\}|\{,[0-9]+\})"
# No lazy repeat: of that the engine says that it goes on where it cannot any more.
_HEAD = re.compile(
    rf"(?P<first>{_ONE})(?:(?P<more>{_ONE})?(?P<times>{_TIMES})\+?)"
    r"(?P<stop>\\?[^\w\s\\.^$|(){}\[\]*+?]|\\[.^$|(){}\[\]*+?]|\w)(?![*?{])"
)
_LEAD = re.compile(rf"(?:\(\?[a-zA-Z0-9]+\)|\(\?<[=!]{_ONE}\)|\\[bBmMA]|\^)*")


class Head(NamedTuple):
    """A run of characters, and behind it one that ends the run.

    Args:
        first: An expression of the first character.
        more: An expression of the others.
        most: How many there may be.
        stop: An expression of what comes behind them.
    """

    first: str
    more: str
    most: int
    stop: str


def sees_one(lead: str) -> bool:
    """Whether what asks about the text before asks about one character of it."""
    return _LEAD.fullmatch(lead) is not None


def head_of(expression: str, flags: str) -> Head | None:
    """Return the run with which an expression starts; ``None`` if it does not show.

    Args:
        expression: Without what it asks about the text before.
        flags: Those that stand there, in their own words; they count for each part.
    """
    found = _HEAD.match(expression)
    if found is None:
        return None
    first, more, times, stop = found.group("first", "more", "times", "stop")
    last = re.search(r"([0-9]*)\}", times)
    most = int(last[1] or maxsize) if last else maxsize
    return Head(
        first=flags + first,
        more=flags + (more or first),
        most=most + (more is not None),
        stop=flags + stop,
    )
