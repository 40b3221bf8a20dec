from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from heapq import nlargest
from math import hypot
from operator import mul
from typing import TypeAlias, TypeVar

import reactivex
from reactivex import Observable

from rxagent.errors import StoreError
from rxagent.memory.vectors import VectorEntry, VectorMatch
from rxagent.operators import just

__all__ = ["MemoryIndex"]

T = TypeVar("T")

_Kept: TypeAlias = dict[str, tuple[VectorEntry, tuple[float, ...]]]


class MemoryIndex:
    """Vectors in this process, each compared with what is looked for.

    For tests, scripts and some thousand entries: among 5,000 vectors of 256 numbers a
    search takes 0.15 seconds, in which the loop stands still.  Safe from several
    threads.  Everything happens while subscribing.
    """

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def add(self, entries: Sequence[VectorEntry]) -> Observable[int]:
        """Keep entries; see `VectorIndex.add`."""
        added = tuple(entries)

        def add() -> int:
            units = [(entry, _unit(entry.vector)) for entry in added]
            with self._lock:
                for entry, unit in units:
                    self._kept.setdefault(entry.conversation, {})[entry.id] = (
                        entry,
                        unit,
                    )
            return len(added)

        return _once(add)

    def search(
        self, vector: Sequence[float], *, limit: int, conversation: str | None = None
    ) -> Observable[tuple[VectorMatch, ...]]:
        """Find what is closest; see `VectorIndex.search`.

        What is equally close is found in the order in which it was added.
        """
        wanted = _unit(vector)

        def search() -> tuple[VectorMatch, ...]:
            with self._lock:
                groups: Iterable[_Kept] = self._kept.values()
                if conversation is not None:
                    groups = [self._kept.get(conversation, {})]
                candidates = [each for group in groups for each in group.values()]
            found = (
                VectorMatch(entry=entry, score=_product(wanted, unit, entry))
                for entry, unit in candidates
            )
            return tuple(nlargest(limit, found, key=lambda match: match.score))

        return _once(search)

    def delete(
        self, conversation: str, *, ids: Collection[str] | None = None
    ) -> Observable[int]:
        """Forget a conversation, or some of it; see `VectorIndex.delete`."""

        def delete() -> int:
            with self._lock:
                kept = self._kept.pop(conversation, {})
                gone = kept.keys() if ids is None else kept.keys() & {*ids}
                left = {id_: each for id_, each in kept.items() if id_ not in gone}
                if left:
                    self._kept[conversation] = left
                return len(kept) - len(left)

        return _once(delete)


def _once(act: Callable[[], T]) -> Observable[T]:
    return reactivex.defer(lambda _: just(act()))


def _unit(vector: Sequence[float]) -> tuple[float, ...]:
    length = hypot(*vector)
    return tuple(each / length for each in vector) if length else tuple(vector)


def _product(a: tuple[float, ...], b: tuple[float, ...], entry: VectorEntry) -> float:
    if len(a) != len(b):
        raise StoreError(
            entry.conversation,
            f"has a vector of {len(b)} numbers, and one of {len(a)} is looked for; "
            "use the embedder that made it, or index it anew",
        )
    product: float = sum(map(mul, a, b))
    return product
