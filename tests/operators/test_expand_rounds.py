from __future__ import annotations

import sys
import threading
import tracemalloc
from collections.abc import Callable

import reactivex
from reactivex import Observable, abc
from reactivex import operators as ops
from reactivex.disposable import Disposable
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.operators import expand_rounds, just

on_next, on_completed = ReactiveTest.on_next, ReactiveTest.on_completed
on_error, subscribe = ReactiveTest.on_error, ReactiveTest.subscribe


def last(_: int | None, item: int) -> int | None:
    return item


def nothing() -> int | None:
    return None


def counting_to(
    rounds: int, make: Callable[[int], Observable[int]] = just
) -> Observable[int]:
    """Rounds of one item, 0 to ``rounds - 1``."""

    def again(item: int | None) -> Observable[int] | None:
        assert item is not None
        return make(item + 1) if item + 1 < rounds else None

    return make(0).pipe(expand_rounds(nothing, last, again))


def depth() -> int:
    frame, count = sys._getframe(), 0
    while frame.f_back is not None:
        frame, count = frame.f_back, count + 1
    return count


def test_a_thousand_synchronous_rounds_keep_the_stack_flat() -> None:
    depths: list[int] = []

    counting_to(1_000).subscribe(lambda _: depths.append(depth()))

    assert len(depths) == 1_000
    assert len(set(depths[1:])) == 1, "the stack grew with the rounds"


def test_memory_does_not_grow_with_the_rounds() -> None:
    def peak(rounds: int) -> int:
        tracemalloc.start()
        counting_to(rounds).subscribe()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)  # imports and caches of the first run
    assert peak(2_000) < 3 * peak(20) + 20_000


def test_a_hundred_thousand_synchronous_items_pass_in_one_round() -> None:
    seen = 0

    def count(_: int) -> None:
        nonlocal seen
        seen += 1

    reactivex.from_iterable(range(100_000)).pipe(
        expand_rounds(nothing, last, lambda _: None)
    ).subscribe(count)

    assert seen == 100_000


def test_rounds_follow_each_other_and_never_overlap() -> None:
    scheduler = TestScheduler()
    first = scheduler.create_cold_observable(on_next(10, 1), on_completed(30))
    second = scheduler.create_cold_observable(on_next(5, 2), on_completed(6))
    rounds = [second]

    got = scheduler.start(
        lambda: first.pipe(
            expand_rounds(nothing, last, lambda _: rounds.pop() if rounds else None)
        )
    )

    assert got.messages == [on_next(210, 1), on_next(235, 2), on_completed(236)]
    assert first.subscriptions == [subscribe(200, 230)]
    assert second.subscriptions == [subscribe(230, 236)]


def test_disposing_closes_the_open_round_and_starts_no_other() -> None:
    scheduler = TestScheduler()
    first = scheduler.create_cold_observable(on_next(10, 1), on_completed(30))
    second = scheduler.create_cold_observable(on_next(5, 2), on_next(500, 3))
    third = scheduler.create_cold_observable(on_completed(1))
    rounds = [third, second]

    got = scheduler.start(
        lambda: first.pipe(expand_rounds(nothing, last, lambda _: rounds.pop())),
        disposed=300,
    )

    assert got.messages == [on_next(210, 1), on_next(235, 2)]
    assert second.subscriptions == [subscribe(230, 300)]
    assert third.subscriptions == []


def test_an_error_of_a_round_ends_it_all() -> None:
    scheduler = TestScheduler()
    broken = OSError("broken")
    first = scheduler.create_cold_observable(on_next(10, 1), on_error(20, broken))

    got = scheduler.start(
        lambda: first.pipe(expand_rounds(nothing, last, lambda _: just(9)))
    )

    assert got.messages == [on_next(210, 1), on_error(220, broken)]


def test_an_error_of_a_callback_is_an_error_of_the_stream() -> None:
    def fails(*_: object) -> None:
        raise ValueError("mine")

    for operator in (
        expand_rounds(nothing, fails, lambda _: None),
        expand_rounds(nothing, last, fails),
    ):
        errors: list[Exception] = []
        just(1).pipe(operator).subscribe(on_error=errors.append)
        assert [str(error) for error in errors] == ["mine"]


def test_an_error_may_be_told_in_other_words_wherever_it_comes_from() -> None:
    def fails(*_: object) -> None:
        raise ValueError("mine")

    def failed(error: Exception) -> Exception:
        return LookupError(f"after two rounds: {error}")

    for source, operator in (
        (just(1), expand_rounds(nothing, fails, lambda _: None, failed=failed)),
        (just(1), expand_rounds(nothing, last, fails, failed=failed)),
        (
            reactivex.throw(ValueError("mine")),
            expand_rounds(nothing, last, lambda _: None, failed=failed),
        ),
    ):
        errors: list[Exception] = []
        source.pipe(operator).subscribe(on_error=errors.append)
        assert [repr(error) for error in errors] == [
            "LookupError('after two rounds: mine')"
        ]


def test_two_subscriptions_share_no_state() -> None:
    stream = counting_to(5)
    first: list[int] = []
    second: list[int] = []

    stream.pipe(ops.take(3)).subscribe(first.append)
    stream.subscribe(second.append)

    assert (first, second) == ([0, 1, 2], [0, 1, 2, 3, 4])


def test_rounds_that_complete_on_other_threads_lose_no_wake_up() -> None:
    def on_a_thread(item: int) -> Observable[int]:
        def run(
            observer: abc.ObserverBase[int], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            threading.Thread(target=just(item).subscribe, args=(observer,)).start()
            return Disposable()

        return Observable(run)

    def run() -> list[int]:
        done = threading.Event()
        seen: list[int] = []
        counting_to(20, on_a_thread).subscribe(seen.append, on_completed=done.set)
        assert done.wait(10)
        return seen

    for _ in range(20):
        assert run() == list(range(20))


def test_every_round_gets_the_scheduler_of_the_subscription() -> None:
    scheduler = TestScheduler()
    seen: list[object] = []

    def make(item: int) -> Observable[int]:
        def run(
            observer: abc.ObserverBase[int], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            seen.append(scheduler)
            return just(item).subscribe(observer)

        return Observable(run)

    counting_to(3, make).subscribe(scheduler=scheduler)

    assert seen == [scheduler] * 3
