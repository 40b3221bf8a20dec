"""What a running tool may know of its surroundings."""

from __future__ import annotations

from dataclasses import dataclass

from rxagent.context import Context
from rxagent.messages import ToolCall
from rxagent.requests import Origin

__all__ = ["ToolContext"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Handed to a tool that has a parameter of this type; the model never sees it.

    Args:
        context: The request's context; every call of a batch sees the same one.
        call: The call that is answered.
        origin: The run and the round that it belongs to.
    """

    context: Context
    call: ToolCall
    origin: Origin
