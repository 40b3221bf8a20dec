"""A stage that puts each query into other words."""

from __future__ import annotations

from dataclasses import replace

from reactivex import Observable
from reactivex import operators as ops

from rxagent.choices import check_callable, check_text
from rxagent.operators import concat_each
from rxagent.stages._asking import Said, ask_model
from rxagent.stages._at_once import at_once
from rxagent.stages._retrieval import Retrieval
from rxagent.stages._stage import Stage
from rxagent.types import Exchange
from rxagent.usage import Usage

_AT_ONCE = 4


def reworded(
    name: str, model: Exchange, *, instructions: str, settings: str = ""
) -> Stage:
    """Make a stage that lets a model put each query into other words.

    Args:
        name: Of the stage.
        model: Gets a query and answers with another one.
        instructions: What it is to do.
        settings: Of the stage.

    Raises:
        ConfigurationError: If ``model`` is no function.
    """
    check_callable("model", model, may_be_class=False, may_be_none=False)
    check_text("instructions", instructions)

    def reword(retrieval: Retrieval) -> Observable[Retrieval]:
        def asked(text: str) -> Observable[Said]:
            return ask_model(
                model, text, stage=name, instructions=instructions, retrieval=retrieval
            )

        def told(answers: tuple[Said, ...]) -> Retrieval:
            pairs = zip(retrieval.queries, answers, strict=True)
            usage = sum((each.usage for each in answers), start=Usage())
            return replace(
                retrieval,
                queries=tuple(said.text or text for text, said in pairs),
                usage=retrieval.usage + usage,
            )

        answers = at_once(name, map(asked, retrieval.queries), max_concurrency=_AT_ONCE)
        return answers.pipe(ops.map(told))

    return Stage(name=name, operator=concat_each(reword), settings=settings)
