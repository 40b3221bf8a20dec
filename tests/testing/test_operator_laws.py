"""Each check must find the fault that it is for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import reactivex
from reactivex import Observable, abc
from reactivex import operators as ops
from reactivex.disposable import Disposable

from rxagent.testing import assert_operator_laws


def _custom(
    run: Callable[
        [
            Observable[Any],
            abc.ObserverBase[Any],
            abc.SchedulerBase | None,
        ],
        abc.DisposableBase,
    ],
) -> Callable[[Observable[Any]], Observable[Any]]:
    def operator(source: Observable[Any]) -> Observable[Any]:
        def subscribe(
            observer: abc.ObserverBase[Any],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            return run(source, observer, scheduler)

        return Observable(subscribe)

    return operator


def _eager(source: Observable[Any]) -> Observable[Any]:
    source.subscribe(on_error=lambda _: None)
    return source


def _counting() -> Callable[[Observable[Any]], Observable[Any]]:
    count = 0

    def number(_: object) -> int:
        nonlocal count
        count += 1
        return count

    return ops.map(number)


def _hides_errors(source: Observable[Any]) -> Observable[Any]:
    return source.pipe(ops.catch(lambda error, _: reactivex.empty()))


def _turns_errors(source: Observable[Any]) -> Observable[Any]:
    return source.pipe(ops.catch(lambda *_: reactivex.throw(KeyError("another"))))


def _leaks(
    source: Observable[Any],
    observer: abc.ObserverBase[Any],
    scheduler: abc.SchedulerBase | None,
) -> abc.DisposableBase:
    source.subscribe(observer, scheduler=scheduler)
    return Disposable()


@pytest.mark.parametrize(
    ("operator", "says"),
    [
        (_eager, "before anybody subscribed"),
        (_counting(), "a second subscription differs"),
        (_hides_errors, "and an error, it ended"),
        (_turns_errors, "and an error, it ended"),
        (
            _custom(_leaks),
            "it left its source",
        ),
        (
            _custom(lambda source, observer, _: source.subscribe(observer)),
            "did not get the subscription's scheduler",
        ),
    ],
    ids=["acts when applied", "shared state", "hides", "turns", "leaks", "no clock"],
)
def test_a_broken_operator_is_found(
    operator: Callable[[Observable[Any]], Observable[Any]], says: str
) -> None:
    with pytest.raises(AssertionError, match=says):
        assert_operator_laws(operator, [1, 2, 3])


def test_a_sound_operator_passes() -> None:
    assert_operator_laws(ops.map(str), [1, 2, 3])
