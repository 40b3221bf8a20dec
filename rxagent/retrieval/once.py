"""What emits once, held to it: nobody notices a stream that ends without an item."""

from __future__ import annotations

from typing import TypeVar

from reactivex import Observable, abc

from rxagent.errors import RetrievalError

__all__ = ["one"]

T = TypeVar("T")


def one(what: str, source: Observable[T]) -> Observable[T]:
    """Hold a stream to one item.

    Args:
        what: Emits it; for the error.
        source: The stream.

    Returns:
        Its item, when it has completed.  None or several are a `RetrievalError`.

    Raises:
        RetrievalError: If it is no stream.
    """
    given: object = source
    if not isinstance(given, Observable):
        kind = type(given).__name__
        raise RetrievalError(f"{what} returned a {kind}, not an Observable")

    def subscribe(
        observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        items: list[T] = []

        def complete() -> None:
            if len(items) != 1:
                error = f"{what} emitted {len(items)} items, and it has to emit one"
                observer.on_error(RetrievalError(error))
                return
            observer.on_next(items[0])
            observer.on_completed()

        return source.subscribe(
            items.append, observer.on_error, complete, scheduler=scheduler
        )

    return Observable(subscribe)
