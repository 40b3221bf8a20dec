from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import ReactiveTest, TestScheduler
from reactivex.testing.recorded import Recorded

from rxagent.errors import ConfigurationError, ModelTimeoutError
from rxagent.operators import just, timeouts
from rxagent.runtime import LoopScheduler
from tests.timers import Timers

on_next, on_completed = ReactiveTest.on_next, ReactiveTest.on_completed
on_error, subscribe = ReactiveTest.on_error, ReactiveTest.subscribe


def error_of(messages: list[Recorded[Any]]) -> ModelTimeoutError:
    last: Any = messages[-1].value
    assert isinstance(last.exception, ModelTimeoutError)
    return last.exception


def _same(source: Observable[Any]) -> Observable[Any]:
    return source


def times(messages: list[Recorded[Any]]) -> list[float]:
    return [message.time for message in messages]


def test_a_source_that_does_not_begin_runs_out_of_the_first_clock() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(on_next(50, "late"))

    got = scheduler.start(lambda: source.pipe(timeouts(first_s=30)))

    assert times(got.messages) == [230]
    assert source.subscriptions == [subscribe(200, 230)]
    error = error_of(got.messages)
    assert (error.clock, error.limit_s) == ("first", 30)
    assert error.retryable
    assert not error.delivered


def test_the_first_clock_stands_still_once_something_came() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(
        on_next(20, "a"), on_next(500, "b"), on_completed(600)
    )

    got = scheduler.start(lambda: source.pipe(timeouts(first_s=30)))

    assert got.messages == [on_next(220, "a"), on_next(700, "b"), on_completed(800)]


def test_a_gap_is_measured_from_the_last_item_to_the_tick() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(
        on_next(7, "a"), on_next(13, "b"), on_next(22, "c"), on_next(90, "late")
    )

    got = scheduler.start(lambda: source.pipe(timeouts(gap_s=10)))

    assert times(got.messages) == [207, 213, 222, 232]
    assert source.subscriptions == [subscribe(200, 232)]
    error = error_of(got.messages)
    assert (error.clock, error.limit_s, error.delivered) == ("gap", 10, True)


def test_a_gap_without_a_first_clock_begins_at_once() -> None:
    """A limit that silently does nothing would be worse than none: S000-34."""
    scheduler = TestScheduler()

    got = scheduler.start(lambda: reactivex.never().pipe(timeouts(gap_s=10)))

    assert times(got.messages) == [210]
    assert not error_of(got.messages).delivered


def test_a_gap_may_be_shorter_than_the_wait_for_the_first_item() -> None:
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(on_next(100, "a"), on_next(200, "late"))

    got = scheduler.start(lambda: source.pipe(timeouts(first_s=300, gap_s=10)))

    assert times(got.messages) == [300, 310]
    assert error_of(got.messages).clock == "gap"


def test_the_turn_ends_though_items_flow() -> None:
    scheduler = TestScheduler()

    got = scheduler.start(
        lambda: reactivex.interval(10).pipe(timeouts(gap_s=15, turn_s=35))
    )

    assert times(got.messages) == [210, 220, 230, 235]
    error = error_of(got.messages)
    assert (error.clock, error.limit_s, error.delivered) == ("turn", 35, True)


@pytest.mark.parametrize(
    ("limits", "clock", "at"),
    [
        ({"first_s": 10, "turn_s": 20}, "first", 210),
        ({"first_s": 20, "turn_s": 10}, "turn", 210),
        ({"gap_s": 10, "turn_s": 20}, "gap", 210),
        ({"first_s": 30, "gap_s": 10, "turn_s": 40}, "first", 230),
    ],
)
def test_the_clock_that_runs_out_first_is_the_error(
    limits: dict[str, Any], clock: str, at: float
) -> None:
    scheduler = TestScheduler()

    got = scheduler.start(lambda: reactivex.never().pipe(timeouts(**limits)))

    assert times(got.messages) == [at]
    assert error_of(got.messages).clock == clock


@pytest.mark.parametrize("clock", ["first", "gap", "turn"])
def test_the_error_says_who_which_clock_and_what_to_do(clock: str) -> None:
    for provider, subject in (("", "the source"), ("acme", "acme")):
        scheduler = TestScheduler()
        limits: Any = {f"{clock}_s": 2.5, "provider": provider}
        source: Observable[Any] = reactivex.never().pipe(timeouts(**limits))

        got = scheduler.start(partial(_same, source))
        error = error_of(got.messages)

        assert str(error).startswith(f"{subject} ")
        assert "2.5 s" in str(error)
        assert f"raise {clock}_s" in str(error)
        assert error.provider == provider


@pytest.mark.parametrize(
    "end", [on_completed(50), on_error(50, OSError("mine"))], ids=["end", "error"]
)
def test_a_source_that_ends_stops_the_clocks(end: Recorded[Any]) -> None:
    scheduler = Timers()
    source = scheduler.create_cold_observable(on_next(10, "a"), end)

    source.pipe(timeouts(first_s=100, gap_s=100, turn_s=100)).subscribe(
        on_error=lambda _: None, scheduler=scheduler
    )
    scheduler.start()

    messages = 2
    assert scheduler.ran_out == messages


def test_disposing_stops_the_clocks_and_closes_the_source() -> None:
    """Law 5."""
    scheduler = Timers()
    source = scheduler.create_cold_observable(on_next(10, "a"))

    got = scheduler.start(
        lambda: source.pipe(timeouts(first_s=100, gap_s=100, turn_s=100)), disposed=230
    )

    assert got.messages == [on_next(210, "a")]
    assert source.subscriptions == [subscribe(200, 230)]
    scheduler.start()
    messages = 1
    assert scheduler.ran_out == messages


def test_a_timer_is_started_for_a_silence_and_not_for_an_item() -> None:
    scheduler = Timers()
    messages = [on_next(n, n) for n in range(1, 100)]
    source = scheduler.create_cold_observable(*messages, on_completed(100))

    source.pipe(timeouts(gap_s=30, turn_s=1_000)).subscribe(scheduler=scheduler)
    scheduler.start()

    at_first = len(["gap", "turn"])
    again = len([30, 59, 88])  # a look at the last item, and the wait for the rest
    assert scheduler.started == len(messages) + 1 + at_first + again


def test_a_limit_that_is_finer_than_the_clock_still_runs_out() -> None:
    scheduler = TestScheduler()
    gap_s = 0.1 + 0.2  # a little more than 0.3

    got = scheduler.start(lambda: reactivex.never().pipe(timeouts(gap_s=gap_s)))

    assert [round(time, 6) for time in times(got.messages)] == [200.3]


def test_each_run_has_clocks_and_an_error_of_its_own() -> None:
    """Law 2."""
    scheduler = TestScheduler()
    limited = reactivex.never().pipe(timeouts(turn_s=5))
    errors: list[Exception] = []

    for _ in range(2):
        limited.subscribe(on_error=errors.append, scheduler=scheduler)
    scheduler.start()

    first, second = errors
    assert first is not second


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "5"])
@pytest.mark.parametrize("name", ["first_s", "gap_s", "turn_s"])
def test_what_is_no_limit_is_refused_at_the_call(name: str, value: Any) -> None:
    """S000-34."""
    with pytest.raises(ConfigurationError, match=name):
        timeouts(**{name: value})


def test_without_a_clock_the_operator_is_not_there() -> None:
    source = just("a")

    assert source.pipe(timeouts()) is source


def test_on_a_loop_the_time_is_the_loops() -> None:
    async def scene() -> list[str]:
        loop = asyncio.get_running_loop()
        clocks: list[str] = []
        for scheduler in (LoopScheduler(loop), None):
            ended = loop.create_future()
            reactivex.never().pipe(timeouts(gap_s=0.01)).subscribe(
                on_error=ended.set_result, scheduler=scheduler
            )
            error = await ended
            assert isinstance(error, ModelTimeoutError)
            clocks.append(error.clock)
        return clocks

    assert asyncio.run(scene()) == ["gap", "gap"]


def test_without_scheduler_and_loop_a_timer_keeps_the_time() -> None:
    errors: list[Exception] = []
    done = threading.Event()

    reactivex.never().pipe(
        timeouts(turn_s=0.01), ops.do_action(on_error=errors.append)
    ).subscribe(on_error=lambda _: done.set())

    assert done.wait(10)
    [error] = errors
    assert isinstance(error, ModelTimeoutError)
