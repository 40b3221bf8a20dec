"""What a store keeps: conversations, and what it tells of them in a list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rxagent.messages import Message

__all__ = ["Conversation", "ConversationInfo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The messages of a conversation, oldest first, as they are at one version.

    ``version`` counts the writes: 0 says that nothing is stored, and each write adds 1.
    """

    id: str
    messages: tuple[Message, ...] = ()
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationInfo:
    """A line in the list of a store's conversations.

    ``messages`` is how many there are; ``updated_at`` is when it was last written, in
    UTC.
    """

    id: str
    messages: int
    version: int
    updated_at: datetime
