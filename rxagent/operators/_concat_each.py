from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import (
    CompositeDisposable,
    Disposable,
    SingleAssignmentDisposable,
)

from rxagent.operators._just import Just
from rxagent.operators._serial import Serial
from rxagent.types import Operator

T = TypeVar("T")
U = TypeVar("U")


def concat_each(project: Callable[[T], Observable[U]]) -> Operator[T, U]:
    """Replace each item by a sequence, one sequence after the other.

    ::

        --a-----b-----|
        [ concat_each(project) ]          project makes 1-2| of any item
        --1-2---1-2---|

    It is ``concat_map`` with no lock per inner item, no recursion and no scheduler hop.
    Over ``just`` one item it is the sequence itself, which is how each advisor asks the
    rest of a chain.

    Args:
        project: Makes the sequence of an item.

    Returns:
        An operator.  It completes when the source and the last sequence have; the first
        error ends it; disposing closes the open sequence and starts no other.
    """

    def operator(source: Observable[T]) -> Observable[U]:
        if isinstance(source, Just) and len(source.values) == 1:
            return _Projected(project, source.values[0])

        def subscribe(
            observer: abc.ObserverBase[U], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            unfinished = 1  # the source, and each sequence that has not completed
            lock = threading.Lock()

            def finish() -> None:
                nonlocal unfinished
                with lock:
                    unfinished -= 1
                    last = not unfinished
                if last:
                    observer.on_completed()

            def start(inner: Observable[U]) -> abc.DisposableBase:
                def on_completed() -> None:
                    inners.release()
                    finish()

                return inner.subscribe(
                    observer.on_next,
                    observer.on_error,
                    on_completed,
                    scheduler=scheduler,
                )

            def on_next(item: T) -> None:
                nonlocal unfinished
                try:
                    inner = project(item)
                except Exception as error:  # noqa: BLE001 - a user's callback
                    observer.on_error(error)
                    return
                with lock:
                    unfinished += 1
                inners.push(inner)

            inners = Serial(start)
            outer = SingleAssignmentDisposable()
            both = CompositeDisposable(outer, inners)
            outer.disposable = source.subscribe(
                on_next, observer.on_error, finish, scheduler=scheduler
            )
            return both

        return Observable(subscribe)

    return operator


class _Projected(Observable[U], Generic[T, U]):
    """The sequence that ``project`` makes of ``item``, made anew for each subscription.

    It has no observer of its own: whoever subscribes to it subscribes to the sequence.
    """

    def __init__(self, project: Callable[[T], Observable[U]], item: T) -> None:
        super().__init__()
        self._project = project
        self._item = item

    def subscribe(
        self,
        on_next: abc.ObserverBase[U] | abc.OnNext[U] | None = None,
        on_error: abc.OnError | None = None,
        on_completed: abc.OnCompleted | None = None,
        *,
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        try:
            sequence = self._project(self._item)
        except Exception as error:  # noqa: BLE001 - a user's callback
            sequence = _failed(error)
        return sequence.subscribe(on_next, on_error, on_completed, scheduler=scheduler)


def _failed(error: Exception) -> Observable[Any]:
    def subscribe(
        observer: abc.ObserverBase[Any], _: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        observer.on_error(error)
        return Disposable()

    return Observable(subscribe)
