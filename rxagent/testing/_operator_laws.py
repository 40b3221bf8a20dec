from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

from reactivex import Observable, abc
from reactivex import operators as ops
from reactivex.disposable import Disposable
from reactivex.testing import ReactiveTest, TestScheduler
from reactivex.testing.subscription import Subscription

from rxagent.operators import just
from rxagent.types import Operator

__all__ = ["assert_operator_laws"]

A = TypeVar("A")
B = TypeVar("B")

_GAP = 10


def assert_operator_laws(operator: Operator[A, B], items: Sequence[A]) -> None:
    """Check an operator: cold and fresh, errors pass, leaving closes, on any thread.

    It does nothing when applied; two subscriptions give the same; the source's error
    arrives as it is, and nothing after it; disposing at any time closes the source,
    also from inside ``on_next``; the source gets the scheduler of the subscription; and
    a source that emits on a thread of its own changes nothing.

    Args:
        operator: A deterministic one.
        items: What it is fed.
    """
    expected = _collect(operator(just(*items)))
    _assert_fresh(operator, items, expected)
    _assert_errors_pass(operator, items)
    _assert_leaving_closes(operator, items)
    _assert_scheduler_reaches_the_source(operator, items)
    _assert_threads_change_nothing(operator, items, expected)


def _collect(source: Observable[B]) -> list[B]:
    seen: list[B] = []
    ends: list[object] = []
    source.subscribe(seen.append, ends.append, lambda: ends.append("completed"))
    assert ends == ["completed"], f"expected completion, got {ends}"
    return seen


def _assert_fresh(
    operator: Operator[A, B], items: Sequence[A], expected: list[B]
) -> None:
    subscribed = 0

    def subscribe(
        observer: abc.ObserverBase[A], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        nonlocal subscribed
        subscribed += 1
        return just(*items).subscribe(observer, scheduler=scheduler)

    applied = operator(Observable(subscribe))
    assert subscribed == 0, "it subscribed before anybody subscribed to it"
    for _ in range(2):
        assert _collect(applied) == expected, "a second subscription differs"


def _assert_errors_pass(operator: Operator[A, B], items: Sequence[A]) -> None:
    broken = OSError("the source broke")
    for count in range(len(items) + 1):
        scheduler = TestScheduler()
        source = scheduler.create_cold_observable(
            *_timed(items[:count]), ReactiveTest.on_error((count + 1) * _GAP, broken)
        )
        ends: list[object] = []
        operator(source).subscribe(
            on_error=ends.append,
            on_completed=partial(ends.append, "completed"),
            scheduler=scheduler,
        )
        scheduler.start()
        assert ends == [broken], f"after {count} items and an error, it ended: {ends}"


def _assert_leaving_closes(operator: Operator[A, B], items: Sequence[A]) -> None:
    for count in range(len(items) + 1):
        scheduler = TestScheduler()
        source = scheduler.create_cold_observable(*_timed(items))
        subscription = operator(source).subscribe(scheduler=scheduler)
        scheduler.advance_to(count * _GAP + _GAP / 2)
        subscription.dispose()
        assert _is_closed(source), f"disposed after {count} items, it left its source"
    scheduler = TestScheduler()
    source = scheduler.create_cold_observable(*_timed(items))
    seen: list[B] = []
    # The source never ends, so a clock of the operator's own may run out.
    operator(source).pipe(ops.take(1)).subscribe(
        seen.append, on_error=lambda _: None, scheduler=scheduler
    )
    scheduler.start()
    assert not seen or _is_closed(source), "left inside on_next, it left its source"


def _assert_scheduler_reaches_the_source(
    operator: Operator[A, B], items: Sequence[A]
) -> None:
    scheduler = TestScheduler()
    seen: list[object] = []

    def subscribe(
        observer: abc.ObserverBase[A], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        seen.append(scheduler)
        return just(*items).subscribe(observer, scheduler=scheduler)

    operator(Observable(subscribe)).subscribe(scheduler=scheduler)
    assert seen == [scheduler], "its source did not get the subscription's scheduler"


def _assert_threads_change_nothing(
    operator: Operator[A, B], items: Sequence[A], expected: list[B]
) -> None:
    def subscribe(
        observer: abc.ObserverBase[A], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        threading.Thread(target=just(*items).subscribe, args=(observer,)).start()
        return Disposable()

    seen: list[B] = []
    done = threading.Event()
    operator(Observable(subscribe)).subscribe(
        seen.append, lambda _: done.set(), done.set
    )
    assert done.wait(10), "over a source on a thread, it never ended"
    assert seen == expected, "over a source on a thread, it gave something else"


def _timed(items: Sequence[A]) -> list[Any]:
    return [ReactiveTest.on_next((n + 1) * _GAP, item) for n, item in enumerate(items)]


def _is_closed(source: Any) -> bool:
    never = Subscription(0).unsubscribe
    return all(each.unsubscribe != never for each in source.subscriptions)
