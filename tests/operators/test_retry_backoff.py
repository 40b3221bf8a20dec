from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable, abc
from reactivex import operators as ops
from reactivex.disposable import Disposable
from reactivex.scheduler import CurrentThreadScheduler
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.errors import (
    AuthenticationError,
    ModelError,
    OverloadedError,
    ProviderStreamError,
    RateLimitError,
)
from rxagent.operators import just, retry_backoff
from rxagent.patience import RetryPolicy
from rxagent.runtime import LoopScheduler
from tests.chance import Least, Middle, Most
from tests.timers import Timers

on_next, on_completed = ReactiveTest.on_next, ReactiveTest.on_completed
on_error, subscribe = ReactiveTest.on_error, ReactiveTest.subscribe

BUSY = OverloadedError("busy")


def in_turn(*sources: Observable[Any]) -> Observable[Any]:
    """The next of ``sources`` for each subscription."""
    left = iter(sources)
    return reactivex.defer(lambda _: next(left))


def failing(error: Exception, times: int = 1_000) -> tuple[Observable[Any], list[int]]:
    """A source that fails ``times`` and then gives ``"ok"``; and its subscriptions."""
    subscriptions: list[int] = []

    def subscribe(
        observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        subscriptions.append(threading.get_ident())
        if len(subscriptions) <= times:
            observer.on_error(error)
            return Disposable()
        return just("ok").subscribe(observer)

    return Observable(subscribe), subscriptions


def waits(
    policy: RetryPolicy,
    errors: Sequence[Exception],
    random: Callable[[], Random] = Most,
) -> list[float]:
    """In virtual time: how long it waited after each of ``errors``."""
    scheduler = TestScheduler()
    times: list[float] = []

    def attempt(_: object) -> Observable[Any]:
        times.append(scheduler.clock)
        return reactivex.throw(errors[min(len(times), len(errors)) - 1])

    reactivex.defer(attempt).pipe(retry_backoff(policy, random=random)).subscribe(
        on_error=lambda _: None, scheduler=scheduler
    )
    scheduler.start()
    return [later - earlier for earlier, later in pairwise(times)]


def test_the_answer_of_a_later_attempt_is_the_answer() -> None:
    scheduler = TestScheduler()
    first = scheduler.create_cold_observable(on_error(10, BUSY))
    second = scheduler.create_cold_observable(on_error(5, BUSY))
    third = scheduler.create_cold_observable(on_next(3, "a"), on_completed(4))

    got = scheduler.start(
        lambda: in_turn(first, second, third).pipe(
            retry_backoff(RetryPolicy(base_s=20, cap_s=100), random=Middle)
        )
    )

    assert first.subscriptions == [subscribe(200, 210)]
    assert second.subscriptions == [subscribe(220, 225)]
    assert third.subscriptions == [subscribe(245, 249)]
    assert got.messages == [on_next(248, "a"), on_completed(249)]


def test_by_default_there_are_two_retries_within_one_and_two_seconds() -> None:
    """M-48."""
    assert waits(RetryPolicy(), [BUSY]) == [1.0, 2.0]
    assert waits(RetryPolicy(), [BUSY], Middle) == [0.5, 1.0]
    assert waits(RetryPolicy(), [BUSY], Least) == [0.0, 0.0]


def test_waits_grow_by_the_factor_up_to_the_cap() -> None:
    """M-48."""
    policy = RetryPolicy(max_retries=6, base_s=1, factor=3, cap_s=30)

    assert waits(policy, [BUSY]) == [1, 3, 9, 27, 30, 30]


def test_the_first_wait_is_under_the_cap_too() -> None:
    assert waits(RetryPolicy(base_s=50, cap_s=2), [BUSY]) == [2, 2]


def test_a_bound_that_no_float_can_hold_is_the_cap() -> None:
    policy = RetryPolicy(max_retries=2_000, factor=10, cap_s=1)

    assert waits(policy, [BUSY]) == [1.0] * 2_000


@given(seed=st.integers(0, 1_000))
def test_each_wait_is_between_nothing_and_its_bound(seed: int) -> None:
    """M-48: full jitter."""
    policy = RetryPolicy(max_retries=8, base_s=1, factor=2, cap_s=30)

    found = waits(policy, [BUSY], lambda: Random(seed))

    bounds = [1, 2, 4, 8, 16, 30, 30, 30]
    assert all(0 <= wait <= bound for wait, bound in zip(found, bounds, strict=True))
    assert len(set(found)) > 1


def test_each_subscription_has_a_source_of_chance_of_its_own() -> None:
    """Law 2: two subscriptions share no state."""
    made: list[Random] = []

    def random() -> Random:
        made.append(Random(7))
        return made[-1]

    source = reactivex.throw(BUSY).pipe(retry_backoff(random=random))
    ends: list[float] = []
    for _ in range(2):
        scheduler = TestScheduler()
        source.subscribe(on_error=lambda _: None, scheduler=scheduler)
        scheduler.start()
        ends.append(scheduler.clock)

    assert ends[0] == ends[1] > 0
    assert len(made) == 2


def test_what_the_server_wants_is_what_is_waited() -> None:
    """M-48: neither more nor less, and 0 means now."""
    errors = [RateLimitError("slow down", retry_after_s=wait) for wait in (7, 0, 30)]

    assert waits(RetryPolicy(max_retries=3), errors) == [7, 0, 30]


def test_a_server_that_wants_too_long_a_wait_is_not_asked_again() -> None:
    """M-48: honoured but capped."""
    later = RateLimitError("slow down", retry_after_s=30.5)
    source, asked = failing(later)
    errors: list[Exception] = []

    source.pipe(retry_backoff()).subscribe(on_error=errors.append)

    assert errors == [later]
    assert len(asked) == later.attempts == 1


@pytest.mark.parametrize(
    "error",
    [
        AuthenticationError("no key"),
        ProviderStreamError("who knows"),
        OverloadedError("for good", retryable=False),
        OSError("not of a model"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_that_would_come_again_is_not_retried(error: Exception) -> None:
    """M-49."""
    source, asked = failing(error)
    errors: list[Exception] = []

    source.pipe(retry_backoff()).subscribe(on_error=errors.append)

    assert errors == [error]
    assert len(asked) == 1


def test_an_error_after_an_item_is_not_retried() -> None:
    """M-47: what was delivered is not delivered again."""
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(on_next(10, "a"), on_error(20, BUSY))

    got = scheduler.start(lambda: source.pipe(retry_backoff()))

    assert got.messages == [on_next(210, "a"), on_error(220, BUSY)]
    assert source.subscriptions == [subscribe(200, 220)]


def test_an_error_that_says_that_something_was_delivered_is_not_retried() -> None:
    """M-47: the items may have gone another way, or been held back."""
    source, asked = failing(OverloadedError("busy", delivered=True))

    source.pipe(retry_backoff()).subscribe(on_error=lambda _: None)

    assert len(asked) == 1


def test_the_last_error_comes_as_it_is_with_the_attempts_on_it() -> None:
    """M-49."""
    errors = [OverloadedError("one"), RateLimitError("two"), OverloadedError("three")]
    scheduler = TestScheduler()
    source = in_turn(*map(reactivex.throw, errors))
    got: list[Exception] = []

    source.pipe(retry_backoff()).subscribe(on_error=got.append, scheduler=scheduler)
    scheduler.start()

    assert got == [errors[-1]]
    assert [error.attempts for error in errors] == [1, 2, 3]


def test_on_retry_shows_each_attempt_that_failed() -> None:
    """M-46."""
    seen: list[tuple[str, int, float, float]] = []
    scheduler = TestScheduler()

    def note(error: ModelError, delay_s: float) -> None:
        seen.append((error.message, error.attempts, delay_s, scheduler.clock))

    errors = [OverloadedError("one"), RateLimitError("two", retry_after_s=5)]
    source = in_turn(*map(reactivex.throw, errors), just("ok"))
    policy = RetryPolicy(base_s=2, on_retry=note)

    got = scheduler.start(lambda: source.pipe(retry_backoff(policy, random=Middle)))

    assert seen == [("one", 1, 1, 200), ("two", 2, 5, 201)]
    assert got.messages == [on_next(206, "ok"), on_completed(206)]


def test_an_error_of_on_retry_is_the_error_of_the_stream() -> None:
    def fails(error: ModelError, delay_s: float) -> None:
        raise ValueError("mine")

    source, asked = failing(BUSY)
    errors: list[Exception] = []

    source.pipe(retry_backoff(RetryPolicy(on_retry=fails))).subscribe(
        on_error=errors.append
    )

    assert [str(error) for error in errors] == ["mine"]
    assert len(asked) == 1


def test_a_retry_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Law 8: an error that nobody is told is in the log."""
    with caplog.at_level(logging.INFO, logger="rxagent"):
        waits(RetryPolicy(max_retries=1), [BUSY])

    assert caplog.messages == ["asking again in 1 s: busy"]


def test_disposing_while_it_waits_cancels_the_timer() -> None:
    """Law 5, M-51."""
    scheduler = Timers()
    first = scheduler.create_cold_observable(on_error(10, BUSY))
    second = scheduler.create_cold_observable(on_next(1, "late"))

    got = scheduler.start(
        lambda: in_turn(first, second).pipe(
            retry_backoff(RetryPolicy(base_s=30), random=Most)
        ),
        disposed=220,
    )

    assert got.messages == []
    assert second.subscriptions == []
    scheduler.start()
    assert (scheduler.started, scheduler.ran_out) == (2, 1)


def test_disposing_within_a_later_attempt_closes_it() -> None:
    """Law 5."""
    scheduler = TestScheduler()
    first = scheduler.create_cold_observable(on_error(10, BUSY))
    second = scheduler.create_cold_observable(on_next(5, "a"), on_next(500, "b"))

    got = scheduler.start(
        lambda: in_turn(first, second).pipe(retry_backoff(random=Least)), disposed=300
    )

    assert got.messages == [on_next(215, "a")]
    assert second.subscriptions == [subscribe(210, 300)]


def test_who_leaves_at_the_first_failure_starts_no_other_attempt() -> None:
    """Law 5: also if the source fails while it is being subscribed."""
    scheduler = TestScheduler()
    source, asked = failing(RateLimitError("busy", retry_after_s=0))

    source.pipe(retry_backoff()).subscribe(scheduler=scheduler).dispose()
    scheduler.start()

    assert len(asked) == 1


def test_a_thousand_synchronous_failures_keep_the_stack_flat() -> None:
    source, asked = failing(RateLimitError("now", retry_after_s=0), times=1_000)
    policy = RetryPolicy(max_retries=1_000)

    async def scene() -> object:
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        source.pipe(retry_backoff(policy)).subscribe(
            answer.set_result, answer.set_exception, scheduler=LoopScheduler(loop)
        )
        return await answer

    assert asyncio.run(scene()) == "ok"
    assert len(asked) == 1_001


@pytest.mark.parametrize(
    "scheduler", [None, CurrentThreadScheduler.singleton()], ids=["none", "trampoline"]
)
def test_without_a_clock_that_can_wait_the_running_loop_does(
    scheduler: abc.SchedulerBase | None,
) -> None:
    """M-50: neither a thread nor a loop is blocked."""
    source, asked = failing(RateLimitError("soon", retry_after_s=0.05), times=1)

    async def scene() -> list[str]:
        turns: list[str] = []
        answer = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(turns.append, "the loop goes on")
        source.pipe(retry_backoff()).subscribe(
            turns.append,
            answer.set_exception,
            lambda: answer.set_result(None),
            scheduler=scheduler,
        )
        await answer
        return turns

    assert asyncio.run(scene()) == ["the loop goes on", "ok"]
    assert set(asked) == {threading.get_ident()}


def test_without_scheduler_and_loop_a_timer_waits() -> None:
    """M-50: not the thread that subscribed."""
    source, asked = failing(RateLimitError("soon", retry_after_s=0.01), times=1)
    seen: list[str] = []
    done = threading.Event()

    source.pipe(retry_backoff()).subscribe(seen.append, on_completed=done.set)

    assert done.wait(10)
    assert seen == ["ok"]
    assert asked[0] == threading.get_ident() != asked[1]


def test_every_attempt_gets_the_scheduler_of_the_subscription() -> None:
    scheduler = TestScheduler()
    seen: list[object] = []

    def subscribe(
        observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        seen.append(scheduler)
        observer.on_error(BUSY)
        return Disposable()

    Observable(subscribe).pipe(retry_backoff()).subscribe(
        on_error=lambda _: None, scheduler=scheduler
    )
    scheduler.start()

    assert seen == [scheduler] * 3


def test_without_retries_the_operator_is_not_there() -> None:
    source = just("a")

    assert source.pipe(retry_backoff(RetryPolicy(max_retries=0))) is source


def test_leaving_early_downstream_closes_the_source() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(on_next(10, "a"), on_next(20, "b"))

    scheduler.start(lambda: source.pipe(retry_backoff(), ops.take(1)))

    assert source.subscriptions == [subscribe(200, 210)]
