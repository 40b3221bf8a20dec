"""Vectors of texts, as an index wants them: of length one, or none at all."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, isfinite
from typing import TypeAlias

from reactivex import Observable, abc

from rxagent.errors import RetrievalError
from rxagent.operators import just
from rxagent.types import Embedder

__all__ = ["Vector", "check_length", "unit_vectors"]

Vector: TypeAlias = tuple[float, ...]


def unit_vectors(
    embedder: Embedder, texts: Sequence[str]
) -> Observable[tuple[Vector | None, ...]]:
    """Embed texts.

    Args:
        embedder: Asked once for each subscription, for the texts that are not blank;
            not at all for none.
        texts: Any.

    Returns:
        Emits for each text its vector, of length one; ``None`` for a text that is blank
        or whose vector is nothing but zeros.  An embedder that makes anything else than
        one vector of finite numbers for each text is a `RetrievalError`.
    """
    said = [text for text in texts if text.strip()]
    if not said:
        return just((None,) * len(texts))

    def subscribe(
        observer: abc.ObserverBase[tuple[Vector | None, ...]],
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        made: object = embedder(said)
        if not isinstance(made, Observable):
            kind = type(made).__name__
            raise RetrievalError(f"the embedder returned a {kind}, not an Observable")
        emitted: list[tuple[Vector, ...]] = []

        def complete() -> None:
            try:
                vectors = spread(emitted)
            except Exception as error:  # noqa: BLE001 - of the embedder
                observer.on_error(error)
            else:
                observer.on_next(vectors)
                observer.on_completed()

        return made.subscribe(
            emitted.append, observer.on_error, complete, scheduler=scheduler
        )

    def spread(made: list[tuple[Vector, ...]]) -> tuple[Vector | None, ...]:
        if len(made) != 1:  # with none, nothing would be kept and nobody told
            raise RetrievalError(
                f"the embedder emitted {len(made)} times; it must emit all vectors once"
            )
        [vectors] = made
        if len(vectors) != len(said):
            raise RetrievalError(
                f"the embedder made {len(vectors)} vectors of {len(said)} texts; it "
                "must make one of each"
            )
        left = iter(vectors)
        return tuple(_unit(next(left)) if text.strip() else None for text in texts)

    return Observable(subscribe)


def check_length(found: int, wanted: int) -> None:
    """Refuse a vector that cannot be compared with the others.

    Raises:
        RetrievalError: If the lengths differ.
    """
    if found != wanted:
        raise RetrievalError(
            f"the index has vectors of {wanted} numbers, and the embedder makes some "
            f"of {found}; use the one that made them, or begin with an empty index"
        )


def _unit(vector: Vector) -> Vector | None:
    length = hypot(*vector)
    if not isfinite(length):
        raise RetrievalError(
            "the embedder made a vector with a number that is not finite, or too large"
        )
    return tuple([each / length for each in vector]) if length else None
