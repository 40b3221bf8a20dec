"""What a model answered, whole."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeAlias

from rxagent.context import Context
from rxagent.messages import AssistantMessage, Message, ToolCall
from rxagent.requests import ToolSpec
from rxagent.snapshots import Snapshot
from rxagent.usage import Usage

__all__ = ["ChatResponse", "FinishReason", "Limit", "Verdict"]

FinishReason: TypeAlias = Literal[
    "stop",
    "length",
    "tool_calls",
    "content_filter",
    "refusal",
    "pause",
    "blocked",
    "return_direct",
    "tool_limit",
    "paused",
    "interrupted",
    "unknown",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The limit that ended a turn.

    Args:
        name: The option that set it, such as ``"max_rounds"``.
        value: What it was set to.
        message: What happened and what to do, in a sentence.
    """

    name: str
    value: float
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether an answer is what was asked for.

    Args:
        problem: The first thing that is wrong with it; ``None`` if nothing is.
        texts: What the model answered, one text for each attempt.
    """

    problem: str | None = None
    texts: tuple[str, ...] = field(default=(), repr=False)

    @property
    def is_valid(self) -> bool:
        """Whether the last answer was good."""
        return self.problem is None

    @property
    def attempts(self) -> int:
        """How often the model was asked for an answer."""
        return len(self.texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResponse:
    """The truth of a round or a turn: what the model said, not what was delivered.

    Args:
        message: The answer.
        finish_reason: Why it ended.
        finish_reason_raw: The provider's own word for it.
        usage: Tokens; of all rounds, on the response that ends a turn.
        model: The model that answered, in the provider's words.
        id: The provider's id of the answer.
        context: The request's context with what advisors and tools added.
        transcript: Every message that this turn added, tool rounds included.
        blocked_by: The advisor that answered in the model's place.
        limit: The limit that ended the turn, if one did.
        cached: Whether a cache has answered, and no model was asked.
        snapshot: The turn that waits, if it is paused.
        verdict: Of the advisor that checked the answer, if one did.
        offered: The tools that the model could call, whoever added them; ``None`` if
            nothing says it.
    """

    message: AssistantMessage
    finish_reason: FinishReason = "unknown"
    finish_reason_raw: str | None = None
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    id: str | None = None
    context: Context = field(default_factory=Context)
    transcript: tuple[Message, ...] = ()
    blocked_by: str | None = None
    limit: Limit | None = None
    cached: bool = False
    snapshot: Snapshot | None = field(default=None, repr=False)
    verdict: Verdict | None = None
    offered: tuple[ToolSpec, ...] | None = field(
        default=None, repr=False, compare=False
    )

    def __getstate__(self) -> list[object]:
        """What pickle keeps: all but the tools, whose functions it does not take."""
        kept = replace(self, offered=None)
        return [getattr(kept, each.name) for each in fields(kept)]

    @property
    def text(self) -> str:
        """The answer's text, without reasoning."""
        return self.message.text

    @property
    def reasoning(self) -> str:
        """What the model thought."""
        return self.message.reasoning

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that the model asks for."""
        return self.message.tool_calls
