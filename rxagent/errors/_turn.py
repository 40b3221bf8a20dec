"""What ends a turn: a tool, a limit, a guard."""

from __future__ import annotations

from typing import Literal, TypeAlias

from rxagent.errors._root import RxAgentError
from rxagent.usage import Usage

__all__ = [
    "FailureKind",
    "GuardError",
    "LimitError",
    "ToolError",
    "ToolFailedError",
]


class ToolError(RxAgentError):
    """A tool failed, and that is not for the model to see.

    Args:
        tool: Its name.
        problem: What happened, as the rest of a sentence.
    """

    def __init__(self, tool: str, problem: str) -> None:
        super().__init__(f"tool {tool!r} {problem}")
        self.tool = tool


FailureKind: TypeAlias = Literal["semantic", "transient", "environment"]
"""A failure: the model can do better, it may work later, or a person has to act."""


class ToolFailedError(RxAgentError):
    """A tool failed, and says in which way; raised by tools, for the model to see.

    Args:
        message: What happened and what the model may do.
        kind: ``"transient"`` is tried again if the tool declares retries;
            ``"environment"`` may pause the turn until a person has acted.
    """

    def __init__(self, message: str, *, kind: FailureKind = "semantic") -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


class LimitError(RxAgentError):
    """A limit was reached, and it was set to raise.

    Args:
        name: The option that set it.
        value: What it was set to.
        message: What happened and what to do.
        usage: Tokens that the turn has cost.
    """

    def __init__(
        self, message: str, *, name: str, value: float, usage: Usage | None = None
    ) -> None:
        super().__init__(message)
        self.name = name
        self.value = value
        self.usage = usage


class GuardError(RxAgentError):
    """A guard has stopped an answer.

    Args:
        guard: Its name.
        problem: What it found, as the rest of a sentence; never the text itself.
        usage: Tokens that the answer has cost, if they are known.
    """

    def __init__(self, guard: str, problem: str, *, usage: Usage | None = None) -> None:
        super().__init__(f"guard {guard!r} {problem}")
        self.guard = guard
        self.problem = problem
        self.usage = usage
