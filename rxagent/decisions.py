"""What a person, or a program in their place, decides about a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from rxagent.messages import UserPart

__all__ = ["Approve", "Decision", "Reject", "Reply"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve:
    """Run the call.

    Args:
        arguments: To run it with, in place of the model's.
    """

    arguments: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """Do not run the call.

    Args:
        reason: The model sees it.
    """

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """Do not run the call: this is its result.

    Args:
        content: A text, or parts of a message.
    """

    content: str | tuple[str | UserPart, ...]


Decision: TypeAlias = Approve | Reject | Reply
