"""What of a conversation can be found again by its meaning."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from reactivex import Observable

__all__ = ["VectorEntry", "VectorIndex", "VectorMatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorEntry:
    """Something that was said, with the vector of its text.

    ``id`` is that of the message, and unique within its ``conversation``.
    """

    id: str
    conversation: str
    role: Literal["user", "assistant"]
    text: str
    vector: tuple[float, ...] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorMatch:
    """An entry that was found, and the cosine of the angle to what was looked for."""

    entry: VectorEntry
    score: float


class VectorIndex(Protocol):
    """Where vectors are kept and found.

    Every method returns a cold observable that emits once; a failure is its error, a
    `StoreError`.  A write is atomic.
    """

    def add(self, entries: Sequence[VectorEntry]) -> Observable[int]:
        """Keep entries; one whose id is there already takes its place.

        Args:
            entries: Of any conversations.

        Returns:
            Emits how many there were.
        """
        ...

    def search(
        self, vector: Sequence[float], *, limit: int, conversation: str | None = None
    ) -> Observable[tuple[VectorMatch, ...]]:
        """Find what is closest.

        Args:
            vector: Of the text that is looked for.
            limit: How many at most.
            conversation: Which one to look in; by default all.

        Returns:
            Emits the matches, the closest first.
        """
        ...

    def delete(
        self, conversation: str, *, ids: Collection[str] | None = None
    ) -> Observable[int]:
        """Forget what belongs to a conversation.

        Args:
            conversation: Which.
            ids: Of what; by default all.  One that is not there does not matter.

        Returns:
            Emits how many entries there were.
        """
        ...
