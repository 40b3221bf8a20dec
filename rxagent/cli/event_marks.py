"""Events, as `json_line` writes them, as marks of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, cast

from rxagent.usage import Usage

__all__ = ["MEANINGS", "Ending", "Mark", "mark_of"]

T = TypeVar("T")

MEANINGS = {
    "t": "text",
    "r": "reasoning",
    "c": "tool call being written",
    "R": "round ends, tools run",
    "d": "stage of a search ends",
    "a": "call waits for approval",
    "s": "tool starts",
    "p": "tool reports progress",
    "f": "tool ends",
    "x": "tool fails",
    "!": "text of this round is void",
    "?": "kind of event that is unknown here",
    "F": "finished",
}
"""What each letter stands for, in the order of a legend."""

_OF_THE_MODEL = {
    "TextDelta": "t",
    "ReasoningDelta": "r",
    "ToolCallDelta": "c",
    "RoundFinished": "R",
    "Retracted": "!",
    "StageFinished": "d",
}
_OF_A_TOOL = {"ApprovalRequested": "a", "ToolStarted": "s", "ToolProgress": "p"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a turn ended.

    Args:
        reason: Why, in words: the finish reason, the limit, who blocked it.
        usage: Tokens of all rounds, so far as a picture tells them.
        model: The model that answered, in the provider's words.
    """

    reason: str
    usage: Usage
    model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What an event is in a picture.

    Args:
        letter: One of `MEANINGS`.
        lane: The name of the agent, or of the tool.
        is_tool: Whether it is that of a tool.
        run_id: The turn it belongs to.
        round: The model request within its turn, from 0.
        ending: On the last mark of a turn.
    """

    letter: str
    lane: str
    is_tool: bool
    run_id: str
    round: int
    ending: Ending | None


def mark_of(event: object) -> Mark:
    """Find what an event is in a picture.

    Args:
        event: A decoded line of JSON.

    Returns:
        The mark.

    Raises:
        ValueError: If this is no event; says what it lacks.
    """
    kind = _at(event, "type", want=str)
    tool, ending = None, None
    if kind == "Finished":
        letter, ending = "F", _ending(event)
    elif kind == "ToolFinished":
        tool = _at(event, "call", "name", want=str)
        letter = "x" if _at(event, "message", "is_error", want=bool) else "f"
    elif kind in _OF_A_TOOL:
        tool = _at(event, "call", "name", want=str)
        letter = _OF_A_TOOL[kind]
    else:
        letter = _OF_THE_MODEL.get(kind, "?")
    path = cast("list[object]", _at(event, "origin", "path", want=list))
    agent = str(path[-1]) if path else "model"
    return Mark(
        letter=letter,
        lane=agent if tool is None else tool,
        is_tool=tool is not None,
        run_id=_at(event, "origin", "run_id", want=str),
        round=_at(event, "origin", "round", want=int),
        ending=ending,
    )


def _ending(event: object) -> Ending:
    reason = _at(event, "response", "finish_reason", want=str)
    raw = _word(event, "response", "finish_reason_raw")
    if blocker := _word(event, "response", "blocked_by"):
        reason = f"{reason} by {blocker}"
    elif limit := _word(event, "response", "limit", "message"):
        reason = f"{reason}: {limit}"
    elif raw and raw != reason:
        reason = f"{reason} ({raw})"
    model = _word(event, "response", "model")
    return Ending(reason=reason, usage=_usage(event), model=model)


def _usage(event: object) -> Usage:
    def number(name: str) -> int | None:
        steps = ("response", "usage", name)
        return None if _there(event, *steps) is None else _at(event, *steps, want=int)

    return Usage(
        input_tokens=number("input_tokens"),
        cache_read_tokens=number("cache_read_tokens"),
        cache_write_tokens=number("cache_write_tokens"),
        output_tokens=number("output_tokens"),
        reasoning_tokens=number("reasoning_tokens"),
        requests=_at(event, "response", "usage", "requests", want=int),
        sure=_at(event, "response", "usage", "sure", want=bool),
    )


def _word(event: object, *steps: str) -> str | None:
    return None if _there(event, *steps) is None else _at(event, *steps, want=str)


def _at(event: object, *steps: str, want: type[T]) -> T:
    value = _there(event, *steps)
    if not isinstance(value, want):
        where = ".".join(steps)
        problem = f"{where} is missing, or is no {want.__name__}"
        raise ValueError(problem)  # noqa: TRY004 - what is wrong is a text
    return value


def _there(event: object, *steps: str) -> object:
    """What is found on the way of ``steps``; nothing and ``None`` are the same here."""
    for step in steps:
        if not isinstance(event, dict):
            return None
        event = cast("dict[str, object]", event).get(step)
    return event
