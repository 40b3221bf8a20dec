"""What flows out of an exchange.

For each request: any events, then exactly one `Finished`, then completion; or an
error.  Every event carries the `Origin` of its round, outside equality.  The union is
closed, yet an operator passes on what it does not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from rxagent.context import Write
from rxagent.errors import FailureKind
from rxagent.messages import ToolCall, ToolMessage
from rxagent.requests import Origin
from rxagent.responses import ChatResponse
from rxagent.usage import Usage

__all__ = [
    "ApprovalRequested",
    "ChatEvent",
    "Delta",
    "Finished",
    "ReasoningDelta",
    "Retracted",
    "RoundFinished",
    "StageFinished",
    "TextDelta",
    "ToolCallDelta",
    "ToolFinished",
    "ToolProgress",
    "ToolStarted",
]

_NOWHERE = Origin()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of the answer, as the provider sent it."""

    text: str
    origin: Origin = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """A piece of the model's reasoning."""

    text: str
    origin: Origin = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta:
    """A piece of a tool call.

    Args:
        index: Which call of the answer, from 0.
        id: On the first piece, if the provider gave one.
        name: Of the tool, or the piece of it that came.
        arguments: The piece of JSON text that came.
    """

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    origin: Origin = field(default=_NOWHERE, compare=False, repr=False)


Delta: TypeAlias = TextDelta | ReasoningDelta | ToolCallDelta
"""What an answer comes in; a later `Retracted` makes it void."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted:
    """A tool begins to run."""

    call: ToolCall
    origin: Origin = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress:
    """A running tool reports ``value``."""

    call: ToolCall
    value: object
    origin: Origin = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A call has its result, good or bad.

    Args:
        call: The call.
        message: What the model will see.
        value: What the tool returned, whole; ``None`` if it failed.
        failure: How it failed; ``None`` if it did not.
        attempts: How often the tool ran; 0 if it did not.
        writes: What it sets in the context of the turn; nothing if it failed.
        usage: Tokens that it cost if it is an agent, all attempts, whatever it came to.
    """

    call: ToolCall
    message: ToolMessage
    value: object = None
    failure: FailureKind | None = None
    attempts: int = 1
    writes: tuple[Write, ...] = ()
    usage: Usage | None = None
    origin: Origin = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested:
    """A gated call waits for a decision."""

    call: ToolCall
    origin: Origin = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFinished:
    """A model answer whose tools will now run; its text was interim."""

    response: ChatResponse
    origin: Origin = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retracted:
    """Everything delivered since the last boundary is void; sinks clear it."""

    reason: str
    origin: Origin = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFinished:
    """A stage of what an advisor does before it asks the model is done.

    Args:
        stage: Its name, such as ``"rewrite"``.
        value: What is known now; of retrieval, a `rxagent.stages.Retrieval`.
        problem: Why it was left out, if it failed; empty if it did not.
    """

    stage: str
    value: object
    problem: str = ""
    origin: Origin = field(default=_NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The end of the turn, and the truth about it."""

    response: ChatResponse
    origin: Origin = field(default=_NOWHERE, compare=False, repr=False)


ChatEvent: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | ToolCallDelta
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | ApprovalRequested
    | RoundFinished
    | Retracted
    | StageFinished
    | Finished
)
