"""The advisors that really run: those that were given, and what belongs between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rxagent.errors import ConfigurationError
from rxagent.named import Named, name_of
from rxagent.requests import ToolSpec
from rxagent.types import Advisor, Exchange

__all__ = ["described", "loop_owners", "with_check", "with_loop"]


def with_loop(
    advisors: Sequence[Advisor], loop: Advisor, *, has_tools: bool
) -> tuple[Advisor, ...]:
    """Add the loop that runs tools, if it is needed and nobody runs them.

    It stands innermost, but left of those that act on its rounds.

    Args:
        advisors: Outermost first.
        loop: The loop.
        has_tools: Whether there are tools to run.

    Raises:
        ConfigurationError: If two advisors run tools.
    """
    owners = loop_owners(advisors)
    if len(owners) > 1:
        raise ConfigurationError(
            f"{len(owners)} advisors run tools, there may be one: " + ", ".join(owners)
        )
    named = [each for each in advisors if isinstance(each, Named)]
    if owners or not (has_tools or any(each.needs_loop for each in named)):
        return tuple(advisors)
    in_rounds = [isinstance(each, Named) and each.is_in_rounds for each in advisors]
    place = in_rounds.index(True) if any(in_rounds) else len(advisors)
    return (*advisors[:place], loop, *advisors[place:])


def with_check(advisors: Sequence[Advisor], check: Advisor) -> tuple[Advisor, ...]:
    """Put a check of the answer's type around the loop, if there is none yet.

    It stands inside of all that is left of the loop.
    """
    if any(isinstance(each, Named) and each.checks_type for each in advisors):
        return tuple(advisors)
    place = next(
        (at for at, each in enumerate(advisors) if _owns_tools(each)), len(advisors)
    )
    return (*advisors[:place], check, *advisors[place:])


def loop_owners(advisors: Iterable[Advisor]) -> list[str]:
    """The names of the advisors that run tools."""
    return [name_of(each) for each in advisors if _owns_tools(each)]


def described(
    name: str, advisors: Iterable[Advisor], tools: Iterable[ToolSpec], model: Exchange
) -> str:
    """Draw a chain, outermost first, one line each."""
    lines, where = [name], ""
    for advisor in advisors:
        text = str(advisor) if isinstance(advisor, Named) else name_of(advisor)
        lines.append(f"  {where}{text}")
        if _owns_tools(advisor):
            where = "each round: "
            lines.extend(f"    tool {tool.name}" for tool in tools)
    lines.append(f"  {where}{model!r}")
    return "\n".join(lines)


def _owns_tools(advisor: Advisor) -> bool:
    return isinstance(advisor, Named) and advisor.owns_tools
