from __future__ import annotations

from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable

T = TypeVar("T")


def just(*values: T) -> Observable[T]:
    """Emit ``values`` and complete while subscribing, whatever the scheduler.

    ::

        [ just(a, b) ]
        (a,b,|)

    ``reactivex.of`` goes through a scheduler, which costs each layer of a chain a loop
    tick or a thread; a chain made of ``just`` costs none.

    Args:
        values: The items; few, since nothing can stop them half-way.

    Returns:
        A cold observable.
    """
    return Just(values)


class Just(Observable[T]):
    """An observable that shows its items, so that `concat_each` need not wait for them.

    Args:
        values: The items.
    """

    def __init__(self, values: tuple[T, ...]) -> None:
        super().__init__()
        self.values = values

    def _subscribe_core(
        self,
        observer: abc.ObserverBase[T],
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        for value in self.values:
            observer.on_next(value)
        observer.on_completed()
        return Disposable()
