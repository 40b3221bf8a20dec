"""The operator that runs a transducer, and what it is when several run as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeGuard, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import SingleAssignmentDisposable

from rxagent.types import Transducer

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Transduction(Generic[A, B]):
    """An operator that still shows its transducer, so that neighbours can be fused.

    Args:
        make: Makes the transducer; called once for each subscription.
    """

    make: Callable[[], Transducer[A, B]]

    def __call__(self, source: Observable[A]) -> Observable[B]:
        """Run ``source`` through a transducer of its own for each subscription."""

        def subscribe(
            observer: abc.ObserverBase[B], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            transducer = self.make()
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


def is_transduction(
    operator: Callable[[Observable[A]], Observable[B]],
) -> TypeGuard[Transduction[A, B]]:
    """Whether ``operator`` shows its transducer."""
    return isinstance(operator, Transduction)


class InOrder(Generic[T]):
    """Transducers one after the other, as one: a loop, and not a call within a call.

    Args:
        steps: The first one sees the raw item.
    """

    __slots__ = ("_feeds", "_steps")

    def __init__(self, steps: Sequence[Transducer[T, T]]) -> None:
        self._steps = steps
        self._feeds = tuple(step.feed for step in steps)

    def feed(self, item: T, /) -> Iterable[T]:
        """Take an item; return what the last step lets out."""
        return _through(self._feeds, (item,))

    def flush(self) -> Iterable[T]:
        """Flush every step, the first one first, through those behind it."""
        left: list[T] = []
        for index, step in enumerate(self._steps, start=1):
            left += _through(self._feeds[index:], tuple(step.flush()))
        return left


def _through(
    feeds: Sequence[Callable[[T], Iterable[T]]], items: tuple[T, ...]
) -> tuple[T, ...]:
    for feed in feeds:
        if len(items) == 1:
            items = tuple(feed(items[0]))
        else:
            items = tuple(out for item in items for out in feed(item))
    return items
