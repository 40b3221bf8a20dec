"""Where a match may begin: what can be asked of the engine before there is a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rxagent.guards._engine import Compiled

__all__ = ["Run", "beginnings", "run_of"]

_ASCII = tuple(map(chr, range(128)))
_COMMON = "abcdefghijklmnopqrstuvwxyz "


class Run(NamedTuple):
    """Characters with which a match starts, and the one behind them, ``stop``.

    As long as no ``stop`` comes, nothing matches; and if the text ends in such
    characters, then what may become a match starts with the first of them.

    Args:
        chars: The characters; of ASCII only.
        stop: What ends them.
        most: How many there may be.
        begins: Two characters, if the run may begin with the second.
    """

    chars: str
    stop: str
    most: int
    begins: frozenset[str]


def run_of(compiled: Compiled) -> Run | None:
    """Return the run with which a match starts; ``None`` if it starts otherwise.

    Args:
        compiled: The expression.
    """
    head = compiled.head
    if head is None:
        return None
    first, chars, stop = map(compiled.members, (head.first, head.more, head.stop))
    if len(stop) != 1 or stop in chars or not set(first) <= set(chars):
        return None
    before = [char for char in _ASCII if char not in chars]
    asked = _asked(compiled, before, first)
    return Run(chars, stop, head.most, frozenset(each for each in asked if asked[each]))


def beginnings(compiled: Compiled) -> Mapping[str, bool]:
    """Say of two characters if a match may begin at the second and go on behind it.

    Args:
        compiled: The expression.

    Returns:
        For seconds that are common in prose; without those where one matches already.
    """
    if not compiled.sees_one:
        return {}
    engine = compiled.start or compiled.open
    seconds = [char for char in _COMMON if engine.match(char, 0, partial=True)]
    return _asked(compiled, _ASCII, seconds)


def _asked(
    compiled: Compiled, before: Iterable[str], seconds: Iterable[str]
) -> dict[str, bool]:
    found: dict[str, bool] = {}
    pairs = [first + second for second in seconds for first in before]
    for pair in pairs:
        begun = compiled.open.match(pair, 1, partial=True)
        if begun is None or begun.partial:
            found[pair] = begun is not None
    return found
