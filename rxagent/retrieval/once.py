"""What emits once, held to it: nobody notices a stream that ends without an item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import RetrievalError
from rxagent.retrieval.document import Document

__all__ = ["check_found", "one"]

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


def check_found(what: str, found: object) -> None:
    """Refuse what is no list of documents.

    Args:
        what: Emits it; for the error.
        found: Anything.

    Raises:
        RetrievalError: If it is none.
    """
    are_listed = isinstance(found, tuple | list)
    strange = cast("Sequence[object]", found) if are_listed else (found,)
    for each in strange:
        if not are_listed or not isinstance(each, Document):
            kind = f"a {type(each).__name__}"
            raise RetrievalError(
                f"{what} emitted {f'a list with {kind}' if are_listed else kind}, and "
                "it has to emit one tuple of documents"
            )
