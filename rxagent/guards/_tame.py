"""Whether an expression can take very long over a short text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import log2

from rxagent.guards._tokens import Token

__all__ = ["is_tame"]

# In powers of two: how many ways there are through a text of 128 characters.  Three
# repeats share that text among them; choices one after the other share nothing.
_REPEAT, _CHOICE, _MOST = 6.0, 1.5, 24.0
_FIXED = re.compile(r"\{[0-9]+\}")


def is_tame(tokens: Iterable[Token]) -> bool:
    """Whether there are few ways in which an expression can match one short text.

    Args:
        tokens: Of the expression.

    Returns:
        ``False`` if there may be many, as there are if a group is repeated.
    """
    groups = [_Group()]
    closed = False  # a group has just been
    for token in tokens:
        if token.kind == "comment":
            continue
        if token.kind == "call" or (token.kind == "repeat" and closed):
            return False
        closed = token.kind == "close"
        if token.opens:
            groups.append(_Group())
        elif closed:
            inner = groups.pop()
            groups[-1].way += inner.ways
        elif token.text == "|":
            groups[-1].choose()
        elif token.text == "?":
            groups[-1].way += _CHOICE
        elif token.kind == "repeat" and not _FIXED.fullmatch(token.text):
            groups[-1].way += _REPEAT
    return groups[0].ways <= _MOST


class _Group:
    """What is between two parentheses, so far."""

    def __init__(self) -> None:
        self.way = 0.0  # of the alternative that is being read
        self._longest = 0.0
        self._count = 1

    @property
    def ways(self) -> float:
        """Through all alternatives."""
        return max(self._longest, self.way) + _CHOICE * log2(self._count)

    def choose(self) -> None:
        """Begin another alternative."""
        self._longest, self.way = max(self._longest, self.way), 0.0
        self._count += 1
