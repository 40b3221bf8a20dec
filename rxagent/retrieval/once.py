"""What emits once, held to it: nobody notices a stream that ends without an item."""

from __future__ import annotations

from typing import TypeVar

from reactivex import Observable
from reactivex import operators as ops

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

    def checked(items: list[T]) -> T:
        if len(items) != 1:
            raise RetrievalError(
                f"{what} emitted {len(items)} items, and it has to emit one"
            )
        return items[0]

    return source.pipe(ops.to_list(), ops.map(checked))
