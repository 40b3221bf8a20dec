from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from reactivex import Observable
from reactivex import operators as ops

from rxagent.choices import check_callable
from rxagent.errors import ConfigurationError, RetrievalError
from rxagent.named import Named, name_of
from rxagent.prompt import listed
from rxagent.stages._retrieval import Retrieval
from rxagent.types import Operator

__all__ = ["AnyStage", "Stage", "check_stage", "checked", "stage_name", "stages_of"]

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

    Raises:
        ConfigurationError: If ``operator`` is no function.
    """

    name: str
    operator: AnyStage
    settings: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        check_stage("operator", self.operator)

    def __call__(self, source: Observable[Retrieval]) -> Observable[Retrieval]:
        """Run it."""
        return self.operator(source)

    def __repr__(self) -> str:
        return f"{self.name}({self.settings})"


def stage_name(stage: AnyStage) -> str:
    """What a stage is called."""
    return stage.name if isinstance(stage, Stage) else name_of(stage)


def checked(stage: AnyStage) -> AnyStage:
    """The same stage, held to what a stage emits.

    Args:
        stage: Any operator.

    Returns:
        A stage.  Anything but a `Retrieval` is a `RetrievalError`, and so is what is no
        stream.
    """
    name = stage_name(stage)

    def check(emitted: object) -> Retrieval:
        if not isinstance(emitted, Retrieval):
            raise RetrievalError(
                f"the stage {name!r} emitted a {type(emitted).__name__}, and it has to "
                "emit a Retrieval: replace(retrieval, documents=...)"
            )
        return emitted

    def run(source: Observable[Retrieval]) -> Observable[Retrieval]:
        found: object = stage(source)
        if not isinstance(found, Observable):
            raise RetrievalError(
                f"the stage {name!r} returned {found!r}, which is no Observable"
            )
        return cast("Observable[object]", found).pipe(ops.map(check))

    return run


def stages_of(name: str, given: Iterable[AnyStage]) -> tuple[AnyStage, ...]:
    """The stages of a list.

    Args:
        name: Of the option.
        given: A list, with or without anything in it.

    Raises:
        ConfigurationError: If it is none, or something in it is no stage.
    """
    if callable(given):
        raise ConfigurationError(f"{name} takes a list of stages; write [{given!r}]")
    stages = listed(name, given)
    for each in stages:
        check_stage(name, each)
    return stages


def check_stage(name: str, given: object) -> None:
    """Refuse what is no stage, as far as one can see.

    Args:
        name: Of the option.
        given: Anything.

    Raises:
        ConfigurationError: If it is no function, or an advisor.
    """
    if hasattr(given, "search") and not callable(given):
        raise ConfigurationError(
            f"{name}: an index is no stage; make one of it: retrieve(index.search)"
        )
    if isinstance(given, Named):
        raise ConfigurationError(f"{name}: {given.name} is an advisor, and no stage")
    check_callable(name, given, may_be_class=False, may_be_none=False)
