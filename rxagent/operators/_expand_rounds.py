from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from reactivex import Observable, abc

from rxagent.operators._serial import Serial
from rxagent.types import Operator

T = TypeVar("T")
Acc = TypeVar("Acc")


def _as_it_is(error: Exception) -> Exception:
    return error


def expand_rounds(
    seed: Callable[[], Acc],
    fold: Callable[[Acc, T], Acc],
    again: Callable[[Acc], Observable[T] | None],
    *,
    failed: Callable[[Exception], Exception] = _as_it_is,
) -> Operator[T, T]:
    """Expand a stream round by round.

    ::

        --a--b|
        [ expand_rounds(seed, fold, again) ]   again makes --c--d| once, then None
        --a--b--c--d|

    Items are emitted as they arrive and folded into the accumulator of their round.
    When the round has completed, ``again`` makes the next one of it.  Rounds never
    overlap, and the stack does not grow with their number.  Stock ``expand`` makes an
    observable for each item, and overflows the stack at some 325 synchronous rounds.

    Args:
        seed: Makes the accumulator of a round.
        fold: Adds an item to it.
        again: Makes the next round, or returns ``None`` to complete.  It only builds:
            subscribing acts.
        failed: Makes the error that ends the sequence of the one that happened, such as
            one that says what earlier rounds have cost.

    Returns:
        An operator.  An error in a round or a callback ends the sequence; disposing
        closes the round that is open and starts no other.
    """

    def operator(source: Observable[T]) -> Observable[T]:
        def subscribe(
            observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            emit = observer.on_next

            def fail(error: Exception) -> None:
                observer.on_error(failed(error))

            def start(current: Observable[T]) -> abc.DisposableBase:
                acc = seed()

                def on_next(item: T) -> None:
                    nonlocal acc
                    try:
                        acc = fold(acc, item)
                    except Exception as error:  # noqa: BLE001 - a user's callback
                        fail(error)
                        return
                    emit(item)

                def on_completed() -> None:
                    try:
                        following = again(acc)
                    except Exception as error:  # noqa: BLE001 - a user's callback
                        fail(error)
                        return
                    if following is None:
                        observer.on_completed()
                    else:
                        rounds.push(following)
                        rounds.release()

                return current.subscribe(
                    on_next, fail, on_completed, scheduler=scheduler
                )

            rounds = Serial(start)
            rounds.push(source)
            return rounds

        return Observable(subscribe)

    return operator
