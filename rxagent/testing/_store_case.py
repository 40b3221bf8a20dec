"""What the checks of a store are written with."""

from __future__ import annotations

from typing import TypeVar
from uuid import uuid4

from reactivex import Observable

from rxagent.memory import Conversation, ConversationInfo, ConversationStore
from rxagent.messages import AssistantMessage, Message, UserMessage
from rxagent.runtime import block

__all__ = ["Case", "one", "same", "texts", "turn"]

T = TypeVar("T")


class Case:
    """A part of a store for one check: its ids start with a prefix of their own."""

    def __init__(self, store: ConversationStore) -> None:
        self.store = store
        self.prefix = f"contract-{uuid4().hex}-"
        self._used: list[str] = []

    def new_id(self, name: str = "a") -> str:
        """Make an id that no one else uses."""
        self._used.append(self.prefix + name)
        return self._used[-1]

    def page(self, *, limit: int, after: str) -> list[ConversationInfo]:
        """List conversations of this case alone."""
        found = block(self.store.conversations(limit=limit, after=after))
        return [info for info in found if info.id.startswith(self.prefix)]

    def clear(self) -> None:
        """Delete what was made."""
        for conversation_id in self._used:
            one(self.store.delete(conversation_id))


def one(source: Observable[T]) -> T:
    items = list(block(source))
    assert len(items) == 1, f"it emitted {len(items)} items, and not one"
    return items[0]


def same(what: str, found: object, expected: object) -> None:
    assert found == expected, f"{what}: expected {expected!r}, got {found!r}"


def turn(name: str) -> tuple[Message, Message]:
    return UserMessage.of(f"{name}?"), AssistantMessage.of(f"{name}.")


def texts(conversation: Conversation) -> list[str]:
    return [message.text for message in conversation.messages]
