"""The contract tells a store that keeps it from one that almost does."""

from __future__ import annotations

from dataclasses import replace

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops

from rxagent.caching import KeptAnswer, MemoryAnswers
from rxagent.operators import just
from rxagent.testing import assert_answer_store_contract


class Eager(MemoryAnswers):
    """Puts at the call."""

    def put(
        self, key: str, answer: KeptAnswer, *, ttl_s: float | None
    ) -> Observable[tuple[str, ...]]:
        super().put(key, answer, ttl_s=ttl_s).subscribe()
        return just(())


class Forgetful(MemoryAnswers):
    """Keeps nothing of what was delivered."""

    def put(
        self, key: str, answer: KeptAnswer, *, ttl_s: float | None
    ) -> Observable[tuple[str, ...]]:
        return super().put(key, replace(answer, delivered=()), ttl_s=ttl_s)


class Timeless(MemoryAnswers):
    """Has a clock of its own, which stands."""

    def put(
        self, key: str, answer: KeptAnswer, *, ttl_s: float | None
    ) -> Observable[tuple[str, ...]]:
        return super().put(key, answer, ttl_s=None)


class FirstInFirstOut(MemoryAnswers):
    """Looking up is no use."""

    def get(self, key: str) -> Observable[KeptAnswer | None]:
        def look(_: object) -> Observable[KeptAnswer | None]:
            return just(self._kept.get(key, (None, None))[0])

        return reactivex.defer(look)


class Secretive(MemoryAnswers):
    """Does not say what had to go."""

    def put(
        self, key: str, answer: KeptAnswer, *, ttl_s: float | None
    ) -> Observable[tuple[str, ...]]:
        return super().put(key, answer, ttl_s=ttl_s).pipe(ops.map(lambda _: ()))


class Endless(MemoryAnswers):
    """Keeps twice as many."""

    def __init__(self, *, max_entries: int) -> None:
        super().__init__(max_entries=2 * max_entries)


class Clinging(MemoryAnswers):
    """Says that it forgets."""

    def clear(self) -> Observable[int]:
        return just(len(self._kept))


@pytest.mark.parametrize(
    ("almost", "promise"),
    [
        (Eager, "an answer that was not put"),
        (Forgetful, "the answer"),
        (Timeless, "an answer whose time is over"),
        (FirstInFirstOut, "an answer whose time is over|what had to go"),
        (Secretive, "what had to go"),
        (Endless, "what had to go"),
        (Clinging, "what is left"),
    ],
)
def test_a_store_that_almost_keeps_the_contract_is_found(
    almost: type[MemoryAnswers], promise: str
) -> None:
    with pytest.raises(AssertionError, match=promise):
        assert_answer_store_contract(lambda most: almost(max_entries=most))
