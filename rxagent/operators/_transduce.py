from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import SingleAssignmentDisposable

from rxagent.types import Operator, Transducer

A = TypeVar("A")
B = TypeVar("B")


def transduce(make: Callable[[], Transducer[A, B]]) -> Operator[A, B]:
    """Run a stream through a `Transducer`, and flush it on completion.

    ::

        --a--b--c----|
        [ transduce(make) ]                    make makes one that joins two items
        -----x-------(y,|)                     x = ab, y = c

    Args:
        make: Makes the transducer; called once for each subscription.

    Returns:
        An operator.  Completion flushes once; an error, of the source or of the
        transducer, and a disposal drop what is held.
    """

    def operator(source: Observable[A]) -> Observable[B]:
        def subscribe(
            observer: abc.ObserverBase[B], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            transducer = make()
            feed, emit = transducer.feed, observer.on_next
            upstream = SingleAssignmentDisposable()
            failed = False

            def fail(error: Exception) -> None:
                nonlocal failed
                failed = True  # a synchronous source goes on; it must not be fed on
                observer.on_error(error)

            def on_next(item: A) -> None:
                if failed:
                    return
                try:
                    # A tuple, so that a generator fails here and not while emitting:
                    # an error of the observer is not an error of the transducer.
                    ready = tuple(feed(item))
                except Exception as error:  # noqa: BLE001 - a user's callback
                    fail(error)
                    return
                for each in ready:
                    emit(each)

            def on_completed() -> None:
                if failed:
                    return
                try:
                    left = tuple(transducer.flush())
                except Exception as error:  # noqa: BLE001 - a user's callback
                    fail(error)
                    return
                for each in left:
                    emit(each)
                observer.on_completed()

            upstream.disposable = source.subscribe(
                on_next, observer.on_error, on_completed, scheduler=scheduler
            )
            return upstream

        return Observable(subscribe)

    return operator
