from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from reactivex import Observable

from rxagent.stages._retrieval import Retrieval
from rxagent.types import Operator

__all__ = ["AnyStage", "Stage"]

AnyStage: TypeAlias = Operator[Retrieval, Retrieval]
"""An operator that makes one fuller `Retrieval` of one; any will do."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Stage:
    """An operator over a `Retrieval`, with a name for events, errors and logs.

    ::

        --r--------|
        [ Stage(name="fresh", operator=ops.map(without_old)) ]
        --s--------|                      s = without_old(r)

    Args:
        name: Shown to whoever watches.
        operator: Emits one retrieval for one.
        settings: What it was made with, in words; no secrets.
    """

    name: str
    operator: AnyStage
    settings: str = field(default="", compare=False)

    def __call__(self, source: Observable[Retrieval]) -> Observable[Retrieval]:
        """Run it."""
        return self.operator(source)

    def __repr__(self) -> str:
        return f"{self.name}({self.settings})"
