from __future__ import annotations

import sys
from functools import partial

import reactivex
from reactivex import Observable
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.operators import concat_each, just

on_next, on_completed = ReactiveTest.on_next, ReactiveTest.on_completed
on_error, subscribe = ReactiveTest.on_error, ReactiveTest.subscribe


def test_sequences_wait_for_each_other() -> None:
    scheduler = TestScheduler()
    slow = scheduler.create_cold_observable(on_next(50, "slow"), on_completed(60))
    fast = scheduler.create_cold_observable(on_next(5, "fast"), on_completed(6))
    inner = {"a": slow, "b": fast}
    source = scheduler.create_cold_observable(
        on_next(10, "a"), on_next(20, "b"), on_completed(30)
    )

    def project(item: str) -> Observable[str]:
        return inner[item]

    got = scheduler.start(lambda: source.pipe(concat_each(project)))

    assert got.messages == [
        on_next(260, "slow"),
        on_next(275, "fast"),
        on_completed(276),
    ]
    assert fast.subscriptions == [subscribe(270, 276)]


def test_disposing_closes_the_source_and_the_open_sequence() -> None:
    scheduler = TestScheduler()
    first = scheduler.create_cold_observable(on_next(50, 1), on_completed(900))
    second = scheduler.create_cold_observable(on_next(5, 2))
    inner = [second, first]
    source = scheduler.create_cold_observable(on_next(10, "a"), on_next(20, "b"))

    got = scheduler.start(
        lambda: source.pipe(concat_each(lambda _: inner.pop())), disposed=300
    )

    assert got.messages == [on_next(260, 1)]
    assert source.subscriptions == [subscribe(200, 300)]
    assert first.subscriptions == [subscribe(210, 300)]
    assert second.subscriptions == []


def test_an_error_of_the_source_a_sequence_or_the_callback_ends_it() -> None:
    broken = OSError("broken")

    def fails(_: int) -> Observable[int]:
        raise broken

    for stream in (
        reactivex.throw(broken).pipe(concat_each(just)),
        just(1, 2).pipe(concat_each(lambda _: reactivex.throw(broken))),
        just(1, 2).pipe(concat_each(fails)),
    ):
        ends: list[Exception | None] = []
        stream.subscribe(on_error=ends.append, on_completed=partial(ends.append, None))
        assert ends == [broken]


def test_ten_thousand_synchronous_sequences_keep_the_stack_flat() -> None:
    seen: list[int] = []
    limit = sys.getrecursionlimit()
    assert limit < 10_000

    reactivex.from_iterable(range(10_000)).pipe(concat_each(just)).subscribe(
        seen.append
    )

    assert seen == list(range(10_000))


def test_an_empty_source_completes() -> None:
    completed: list[bool] = []

    reactivex.empty().pipe(concat_each(just)).subscribe(
        on_completed=lambda: completed.append(True)
    )

    assert completed == [True]


def test_over_one_item_it_is_the_sequence_itself() -> None:
    scheduler = TestScheduler()
    inner = scheduler.create_cold_observable(on_next(50, 1), on_completed(60))
    made: list[str] = []

    def project(item: str) -> Observable[int]:
        made.append(item)
        return inner

    stream = just("a").pipe(concat_each(project))
    assert made == [], "building does nothing"
    got = scheduler.start(lambda: stream, disposed=255)
    again = scheduler.create_observer()
    stream.subscribe(again, scheduler=scheduler)
    scheduler.start()

    assert got.messages == [on_next(250, 1)]
    assert inner.subscriptions == [subscribe(200, 255), subscribe(260, 320)]
    assert again.messages == [on_next(310, 1), on_completed(320)]
    assert made == ["a", "a"], "each subscription has a sequence of its own"
