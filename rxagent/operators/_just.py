from __future__ import annotations

from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable

T = TypeVar("T")


def just(value: T) -> Observable[T]:
    """Emit ``value`` and complete while subscribing, whatever the scheduler.

    ::

        [ just(a) ]
        (a,|)

    ``reactivex.of`` goes through a scheduler, which costs each layer of a chain a loop
    tick or a thread; a chain made of ``just`` costs none.

    Args:
        value: The only item.

    Returns:
        A cold observable of one item.
    """

    def subscribe(
        observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        observer.on_next(value)
        observer.on_completed()
        return Disposable()

    return Observable(subscribe)
