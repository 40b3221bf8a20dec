"""Sources of chance that hold no surprise."""

from __future__ import annotations

from random import Random

__all__ = ["Least", "Middle", "Most"]


class Least(Random):
    """Draws the least."""

    def random(self) -> float:
        return 0.0


class Middle(Random):
    """Draws the middle."""

    def random(self) -> float:
        return 0.5


class Most(Random):
    """Draws the most."""

    def random(self) -> float:
        return 1.0
