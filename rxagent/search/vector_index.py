"""Tools by what they mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import TypeAlias

from reactivex import Observable
from reactivex import operators as ops

from rxagent.choices import check_callable
from rxagent.errors import ConfigurationError
from rxagent.operators import just
from rxagent.requests import ToolSpec
from rxagent.search.tool_index import Search
from rxagent.types import Embedder

__all__ = ["VectorIndex"]

_Vector: TypeAlias = Sequence[float]


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """Finds the tools whose name and description mean what the query means.

    There are always as many as the limit allows, the nearest first; none for a blank
    query.  Making the index
    embeds all tools at once, and each search its query; an error of the embedder is the
    error of either.

    Args:
        embed: Makes vectors of texts, such as ``OpenAIEmbeddings(...)``.

    Raises:
        ConfigurationError: If it is no function.
    """

    embed: Embedder

    def __post_init__(self) -> None:
        check_callable("embed", self.embed, may_be_class=False, may_be_none=False)

    @property
    def query(self) -> str:
        """A sentence."""
        return "a sentence that says what the tool does, such as: Sends an email"

    def index(self, tools: Sequence[ToolSpec], /) -> Observable[Search]:
        """Return a cold observable of a search over ``tools``."""
        names = [tool.name for tool in tools]

        def searching(vectors: Sequence[_Vector]) -> Search:
            if len(vectors) != len(names):
                raise ConfigurationError(
                    f"the embedder gave {len(vectors)} vectors for {len(names)} texts; "
                    "it must give one for each"
                )
            units = [*map(_unit, vectors)]

            def search(query: str, limit: int) -> Observable[Sequence[str]]:
                def nearest(asked: Sequence[_Vector]) -> Sequence[str]:
                    _check_one_like(units, asked)
                    wanted = _unit(asked[0])
                    near = [sum(map(mul, unit, wanted)) for unit in units]
                    order = sorted(
                        range(len(names)), key=lambda n: (-near[n], names[n])
                    )
                    return [names[n] for n in order[:limit]]

                if not query.strip():
                    return just(())
                return self.embed([query]).pipe(ops.map(nearest))

            return search

        if not tools:
            return just(searching(()))
        return self.embed([*map(_text, tools)]).pipe(ops.map(searching))


def _check_one_like(units: Sequence[_Vector], asked: Sequence[_Vector]) -> None:
    lengths = {*map(len, units), *map(len, asked)}
    if len(asked) != 1 or len(lengths) > 1:
        raise ConfigurationError(
            f"the embedder gave {len(asked)} vectors for 1 text, and its vectors have "
            f"{' or '.join(map(str, sorted(lengths)))} numbers; it must give one for "
            "each text, all of one length"
        )


def _text(tool: ToolSpec) -> str:
    return f"{tool.name.replace('_', ' ')}: {tool.description}"


def _unit(vector: _Vector) -> _Vector:
    try:
        length = math.hypot(*vector) or 1.0
    except TypeError:
        raise ConfigurationError(
            f"the embedder gave a {type(vector).__name__} where a vector is due; it "
            "must give a list of numbers for each text"
        ) from None
    return [each / length for each in vector]
