"""Tools by a pattern of their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reactivex import Observable

from rxagent.operators import just
from rxagent.requests import ToolSpec
from rxagent.search.pattern import Pattern
from rxagent.search.tool_index import Search

__all__ = ["RegexIndex"]

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class RegexIndex:
    """Finds the tools whose name matches the query, a regular expression.

    It may match anywhere in a name, and letter case makes no difference.  Tools come in
    the order of their names.  An expression that is broken, longer than 200 characters,
    or has what `Pattern` does not know is looked for as it is written.  No expression
    takes long; a blank one finds nothing.
    """

    @property
    def query(self) -> str:
        """A pattern."""
        return "a regular expression for the name of the tool, such as: ^get_.*_data$"

    def index(self, tools: Sequence[ToolSpec], /) -> Observable[Search]:
        """Return a search over ``tools``."""
        names = sorted(tool.name for tool in tools)

        def search(query: str, limit: int) -> Observable[Sequence[str]]:
            if not query.strip():  # it would match every name
                return just(())
            fits = _test(query.strip())
            return just([name for name in names if fits(name)][:limit])

        return just(search)


def _test(query: str) -> Callable[[str], bool]:
    if len(query) <= _LONGEST:
        try:
            return Pattern(query.removeprefix("(?i)")).is_in
        except (ValueError, RecursionError):
            pass  # a model may write anything
    literal = query.lower()
    return lambda name: literal in name.lower()
