from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial(Generic[T_co]):
    """What there is of an answer so far.

    Args:
        value: As JSON: what has come of it.
        entity: The validated answer, at the end; ``None`` before.
    """

    value: object
    entity: T_co | None = None
