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

    def subscribe(
        observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        for value in values:
            observer.on_next(value)
        observer.on_completed()
        return Disposable()

    return Observable(subscribe)
