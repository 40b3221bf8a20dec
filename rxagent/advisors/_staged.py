"""Stages, one after the other, each telling what it has found."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import (
    ModelError,
    OutputError,
    RetrievalError,
    RxAgentError,
    StoreError,
)
from rxagent.events import StageFinished
from rxagent.operators import concat_each, just
from rxagent.retrieval.found import check_found
from rxagent.retrieval.once import one
from rxagent.stages import AnyStage, Retrieval
from rxagent.stages._stage import checked, stage_name

OnStageFailure: TypeAlias = Literal["raise", "skip"]

_log = logging.getLogger("rxagent.advisors.rag")

# Others, such as a guard's, are no failures that one may pass over.
_MAY_BE_SKIPPED = (ModelError, OutputError, RetrievalError, StoreError)


def staged(
    stages: Sequence[AnyStage], beginning: Retrieval, *, on_failure: OnStageFailure
) -> Observable[StageFinished | Retrieval]:
    """Run stages, and tell of each.

    A stage can narrow the filter of the query, and not widen it: the filter that it
    got is joined to another one, and what it has found is held to it.

    ::

        [ staged(stages, beginning) ]     two stages take 2 each
        --a--(b,r|)                       a, b = StageFinished; r is what b found

    Args:
        stages: In their order.
        beginning: What the first one gets.
        on_failure: Whether a stage that fails is left out.

    Returns:
        A cold observable: an event for each stage, then the last retrieval.  An error
        has the ``usage`` of the stages before it.
    """
    if not stages:
        return just(beginning)
    first, *others = stages

    def go_on(done: tuple[Retrieval, str]) -> Observable[StageFinished | Retrieval]:
        retrieval, problem = done
        told = StageFinished(
            stage=stage_name(first),
            # What was said before is long, and the same in each.
            value=replace(retrieval, query=replace(retrieval.query, history=())),
            problem=problem,
            origin=retrieval.origin,
        )
        rest = staged(others, retrieval, on_failure=on_failure)
        # As two sequences, so that the event is out before the next stage starts.
        return concat_each(_itself)(just(just(told), rest))

    return _run(first, beginning, on_failure).pipe(concat_each(go_on))


def _run(
    stage: AnyStage, retrieval: Retrieval, on_failure: OnStageFailure
) -> Observable[tuple[Retrieval, str]]:
    name = stage_name(stage)
    wanted = retrieval.query.filter

    def well(found: Retrieval) -> tuple[Retrieval, str]:
        who = f"the stage {name!r}"
        check_found(who, found.documents)
        # What was there before was looked at then; a stage may narrow the filter since.
        before = {each.id: each.metadata for each in retrieval.documents}
        added = [
            each for each in found.documents if before.get(each.id) != each.metadata
        ]
        check_found(who, added, wanted)
        if found.query.filter is not wanted:
            found = replace(found, query=found.query.within(wanted))
        return found, ""

    def failed(
        error: Exception, _: Observable[tuple[Retrieval, str]]
    ) -> Observable[tuple[Retrieval, str]]:
        known = _typed(name, error)
        if on_failure == "raise" or not isinstance(known, _MAY_BE_SKIPPED):
            raise known.after(retrieval.usage) from known.__cause__
        _log.warning("the stage %r is left out: %s", name, known, exc_info=error)
        spent = (
            retrieval.usage if known.usage is None else retrieval.usage + known.usage
        )
        return just((replace(retrieval, usage=spent), str(known)))

    def start(each: Retrieval) -> Observable[Retrieval]:
        return checked(stage)(just(each))

    found = one(f"the stage {name!r}", concat_each(start)(just(retrieval)))
    return found.pipe(ops.map(well), ops.catch(failed))


def _itself(
    step: Observable[StageFinished | Retrieval],
) -> Observable[StageFinished | Retrieval]:
    return step


def _typed(name: str, error: Exception) -> RxAgentError:
    if isinstance(error, RxAgentError):
        return error
    # Its words are not repeated: they may hold what was searched for.
    wrapped = RetrievalError(f"the stage {name!r} failed with {type(error).__name__}")
    wrapped.__cause__ = error
    return wrapped
