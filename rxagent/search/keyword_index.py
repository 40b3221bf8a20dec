"""Tools by the words they share with a query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reactivex import Observable

from rxagent.operators import just
from rxagent.requests import ToolSpec
from rxagent.search.tool_index import Search
from rxagent.search.words import words_of

__all__ = ["KeywordIndex"]

_IN_NAME, _IN_DESCRIPTION = 2, 1


@dataclass(frozen=True, slots=True)
class KeywordIndex:
    """Finds the tools whose name or description shares words with the query.

    A word counts twice in a name and once in a description, and the more the fewer
    tools have it: one that all have tells nothing and counts exactly 0.  There is no
    least score, since a tool too many costs less than one that is missing.  Equally
    good ones are sorted by name.
    """

    @property
    def query(self) -> str:
        """Words."""
        return "words that say what the tool does, such as: send email"

    def index(self, tools: Sequence[ToolSpec], /) -> Observable[Search]:
        """Return a search over ``tools``, made while subscribing."""
        weights = [(tool.name, _weights(tool)) for tool in tools]
        having = Counter(word for _, weight in weights for word in weight)

        def search(query: str, limit: int) -> Observable[Sequence[str]]:
            # Without -0.0, which no reader expects: log(n / n) is 0.
            rarity = {
                word: math.log(len(tools) / having[word])
                for word in words_of(query)
                if word in having
            }
            scores = {
                name: sum(weight[word] * rarity[word] for word in rarity)
                for name, weight in weights
                if weight.keys() & rarity.keys()
            }
            # Where all words are everybody's, all tools fit.
            best = [name for name, score in scores.items() if score] or [*scores]
            return just(sorted(best, key=lambda name: (-scores[name], name))[:limit])

        return just(search)


def _weights(tool: ToolSpec) -> Counter[str]:
    weights = Counter(dict.fromkeys(words_of(tool.name), _IN_NAME))
    weights.update(dict.fromkeys(words_of(tool.description), _IN_DESCRIPTION))
    return weights
