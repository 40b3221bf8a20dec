"""Vectors of texts, as an index wants them: of length one, or none at all."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from math import hypot, isfinite
from typing import TypeAlias

from reactivex import Observable, abc

from rxagent.errors import ConfigurationError, RetrievalError
from rxagent.operators import just
from rxagent.retrieval.once import one
from rxagent.types import Embedder

__all__ = ["Vector", "check_length", "check_similarity", "unit_vectors"]

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

    def spread(vectors: tuple[Vector, ...]) -> tuple[Vector | None, ...]:
        made: object = vectors
        if not isinstance(made, Sized):
            raise _no_vectors(made)
        if len(vectors) != len(said):
            raise RetrievalError(
                f"the embedder made {len(vectors)} vectors of {len(said)} texts; it "
                "must make one of each"
            )
        left = iter(vectors)
        return tuple(_unit(next(left)) if text.strip() else None for text in texts)

    def subscribe(
        observer: abc.ObserverBase[tuple[Vector | None, ...]],
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        def emit(made: tuple[Vector, ...]) -> None:
            try:
                vectors = spread(made)
            except Exception as error:  # noqa: BLE001 - of the embedder
                observer.on_error(error)
            else:
                observer.on_next(vectors)

        return one("the embedder", embedder(said)).subscribe(
            emit, observer.on_error, observer.on_completed, scheduler=scheduler
        )

    return Observable(subscribe)


def check_length(found: int, wanted: int) -> None:
    """Refuse a vector that cannot be compared with the others.

    Raises:
        RetrievalError: If the lengths differ.
    """
    if found != wanted:
        raise RetrievalError(
            f"the index has vectors of {wanted} numbers, and the embedder makes some "
            f"of {found}; use the one that made them, or begin with a new index"
        )


def check_similarity(option: str, value: object) -> None:
    """Refuse what is no cosine.

    Raises:
        ConfigurationError: If it is no number from -1 to 1.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not -1 <= value <= 1
    ):
        raise ConfigurationError(f"{option} must be from -1 to 1, got {value!r}")


def _unit(vector: Vector) -> Vector | None:
    try:
        length = hypot(*vector)
    except (TypeError, OverflowError):  # not looked at one by one, as they are many
        raise _no_vectors(vector) from None
    if not isfinite(length):
        raise RetrievalError(
            "the embedder made a vector with a number that is not finite, or too large"
        )
    return tuple([each / length for each in vector]) if length else None


def _no_vectors(made: object) -> RetrievalError:
    return RetrievalError(
        f"the embedder made a {type(made).__name__} where vectors are due, and it has "
        "to make a list of numbers of each text"
    )
