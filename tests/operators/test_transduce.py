from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.operators import just, transduce

on_next, on_completed = ReactiveTest.on_next, ReactiveTest.on_completed
on_error, subscribe = ReactiveTest.on_error, ReactiveTest.subscribe


class Batches:
    """Batches of three, and what is left."""

    def __init__(self) -> None:
        self.held: list[int] = []

    def feed(self, item: int, /) -> Iterator[tuple[int, ...]]:
        self.held.append(item)
        if len(self.held) == 3:
            yield tuple(self.held)
            self.held.clear()

    def flush(self) -> Iterator[tuple[int, ...]]:
        if self.held:
            yield tuple(self.held)


def test_seven_items_in_threes_are_three_batches_and_the_last_is_flushed() -> None:
    """S002-4, S002-5."""
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(
        *(on_next(10 * n, n) for n in range(1, 8)), on_completed(80)
    )

    got = scheduler.start(lambda: source.pipe(transduce(Batches)))

    assert got.messages == [
        on_next(230, (1, 2, 3)),
        on_next(260, (4, 5, 6)),
        on_next(280, (7,)),
        on_completed(280),
    ]


def test_an_error_flushes_nothing() -> None:
    """S002-6."""
    scheduler = TestScheduler()
    broken = OSError("broken")
    source = scheduler.create_cold_observable(
        on_next(10, 1), on_next(20, 2), on_error(30, broken)
    )

    got = scheduler.start(lambda: source.pipe(transduce(Batches)))

    assert got.messages == [on_error(230, broken)]


def test_disposing_flushes_nothing() -> None:
    """S002-7."""
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(on_next(10, 1), on_completed(900))

    got = scheduler.start(lambda: source.pipe(transduce(Batches)), disposed=300)

    assert got.messages == []
    assert source.subscriptions == [subscribe(200, 300)]


def test_each_subscription_has_a_transducer_of_its_own() -> None:
    """S002-9."""
    stream = just(1, 2).pipe(transduce(Batches))

    for _ in range(2):
        seen: list[tuple[int, ...]] = []
        stream.subscribe(seen.append)
        assert seen == [(1, 2)]


@pytest.mark.parametrize("at", ["feed", "flush"])
def test_an_error_of_the_transducer_ends_the_stream_and_feeds_it_no_more(
    at: str,
) -> None:
    fed: list[int] = []

    class Broken(Batches):
        def feed(self, item: int, /) -> Iterator[tuple[int, ...]]:
            fed.append(item)
            if at == "feed":
                raise ValueError("mine")
            return super().feed(item)

        def flush(self) -> Iterator[tuple[int, ...]]:
            raise ValueError("mine")

    errors: list[Exception] = []
    completed: list[bool] = []
    just(1, 2, 3).pipe(transduce(Broken)).subscribe(
        on_error=errors.append, on_completed=lambda: completed.append(True)
    )

    assert [str(error) for error in errors] == ["mine"]
    assert completed == []
    assert fed == ([1] if at == "feed" else [1, 2, 3])


def test_a_reader_that_leaves_gets_no_more() -> None:
    seen: list[tuple[int, ...]] = []

    just(*range(9)).pipe(transduce(Batches), ops.take(1)).subscribe(seen.append)

    assert seen == [(0, 1, 2)]


@given(st.lists(st.integers()))
def test_nothing_is_lost_and_the_order_stays(items: list[int]) -> None:
    seen: list[tuple[int, ...]] = []

    def source() -> Observable[int]:
        return just(*items)

    source().pipe(transduce(Batches)).subscribe(seen.append)

    assert [item for batch in seen for item in batch] == items
