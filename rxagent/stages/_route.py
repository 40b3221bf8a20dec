from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import reactivex
from reactivex import Observable

from rxagent.choices import check_callable
from rxagent.errors import ConfigurationError, RetrievalError
from rxagent.operators import concat_each, just
from rxagent.retrieval.once import one
from rxagent.stages._retrieval import Retrieval
from rxagent.stages._stage import AnyStage, Stage, checked, stages_of


def route(
    choose: Callable[[Retrieval], str | Observable[str]],
    routes: Mapping[str, Iterable[AnyStage]],
) -> Stage:
    """Go on with other stages, as the question demands.

    ::

        --r--------|
        [ route(choose, routes) ]         choose says "law", whose stages take 2
        ----s------|                      s is what they make of r

    Args:
        choose: Says which way to go, at once or as an observable of one name, such as
            the answer of an agent.
        routes: Stages, by name.  A way without stages searches for nothing.

    Returns:
        A stage.  A name that is no way is a `RetrievalError`; errors are those of the
        stream, and disposing stops what runs.

    Raises:
        ConfigurationError: If ``choose`` is no function, there is no way to go, or one
            is no list of stages.
    """
    check_callable("choose", choose, may_be_none=False)
    given: object = routes
    if not isinstance(given, Mapping) or not given:
        raise ConfigurationError(
            "route needs at least one way to go: a name, and a list of stages"
        )
    ways = {name: stages_of(f"route {name!r}", each) for name, each in routes.items()}

    def go(retrieval: Retrieval) -> Observable[Retrieval]:
        def on(name: str) -> Observable[Retrieval]:
            if name not in ways:
                raise RetrievalError(
                    f"{name!r} is no way to go; these are: {', '.join(ways)}"
                )
            return just(retrieval).pipe(reactivex.compose(*map(checked, ways[name])))

        chosen = choose(retrieval)
        names = just(chosen) if isinstance(chosen, str) else chosen
        return one("choose", names).pipe(concat_each(on))

    return Stage(
        name="route", operator=concat_each(go), settings=", ".join(map(str, ways))
    )
