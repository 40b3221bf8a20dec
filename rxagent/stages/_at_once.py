"""Several answers at once, in the order in which they were asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from reactivex import Observable
from reactivex import operators as ops

from rxagent.operators import just
from rxagent.retrieval.once import one

T = TypeVar("T")


def at_once(
    what: str, sources: Iterable[Observable[T]], *, max_concurrency: int
) -> Observable[tuple[T, ...]]:
    """Emit what sources emit, each once, as one tuple.

    Args:
        what: Emits; for the error.
        sources: Subscribed in their order.
        max_concurrency: Most of them at once.

    Returns:
        A cold observable.  The first error ends it and disposes the others.
    """

    def numbered(number: int, source: Observable[T]) -> Observable[tuple[int, T]]:
        return one(what, source).pipe(ops.map(lambda value: (number, value)))

    def in_order(found: list[tuple[int, T]]) -> tuple[T, ...]:
        return tuple(value for _, value in sorted(found, key=lambda pair: pair[0]))

    each = [numbered(number, source) for number, source in enumerate(sources)]
    return just(*each).pipe(
        ops.merge(max_concurrent=max_concurrency),
        ops.to_list(),
        ops.map(in_order),
    )
