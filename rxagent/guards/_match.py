from __future__ import annotations

from typing import Protocol


class Match(Protocol):
    """What a function that replaces gets: a match of the `regex` package.

    Its positions count from a place that depends on how the text was cut; its groups
    do not.
    """

    def start(self) -> int:
        """Where it starts."""
        ...

    def end(self) -> int:
        """Where it ends."""
        ...

    def group(self, group: int | str = 0, /) -> str:
        """Return the text of the match, or of one of its groups."""
        ...
