"""What a tool returns if the program is to get another thing than the model."""

from __future__ import annotations

from dataclasses import dataclass

from rxagent.messages import UserPart

__all__ = ["ToolResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """A result with two sides.

    Args:
        value: For the program: the ``value`` of `ToolFinished`.
        content: For the model.
    """

    value: object
    content: str | tuple[str | UserPart, ...]
