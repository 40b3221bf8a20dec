from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, SingleAssignmentDisposable

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

    Args:
        project: Makes the sequence of an item.

    Returns:
        An operator.  It completes when the source and the last sequence have; the first
        error ends it; disposing closes the open sequence and starts no other.
    """

    def operator(source: Observable[T]) -> Observable[U]:
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
