from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.disposable import Disposable

from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.memory.versions import check_id, next_version, write_time
from rxagent.messages import Message

__all__ = ["MemoryStore"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    conversation: Conversation
    updated_at: datetime


class MemoryStore:
    """Conversations in this process: gone with it, and as many as its memory holds.

    For tests, scripts and notebooks.  Safe from several threads.  Everything happens
    while subscribing.  Messages are values, so what is loaded is what was written, and
    no copy of it.
    """

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def load(self, conversation_id: str) -> Observable[Conversation]:
        """Read a conversation; see `ConversationStore.load`."""
        return _once(lambda _: self._found(conversation_id))

    def append(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        """Put messages behind the others; see `ConversationStore.append`."""
        added = tuple(messages)

        def write(now: datetime) -> int:
            with self._lock:
                found = self._found(conversation_id)
                if not added:
                    return found.version
                together = found.messages + added
                return self._write(found, together, expected_version, now)

        return _once(write)

    def replace(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        """Put messages in the place of the others; see `ConversationStore.replace`."""
        kept = tuple(messages)

        def write(now: datetime) -> int:
            with self._lock:
                found = self._found(conversation_id)
                return self._write(found, kept, expected_version, now)

        return _once(write)

    def delete(self, conversation_id: str) -> Observable[bool]:
        """Forget a conversation; see `ConversationStore.delete`."""

        def forget(_: datetime) -> bool:
            check_id(conversation_id)
            with self._lock:
                return self._kept.pop(conversation_id, None) is not None

        return _once(forget)

    def conversations(
        self, *, limit: int = 100, after: str | None = None
    ) -> Observable[ConversationInfo]:
        """List a page of conversations; see `ConversationStore.conversations`."""

        def page(_: datetime) -> list[ConversationInfo]:
            with self._lock:
                ids = sorted(key for key in self._kept if after is None or key > after)
                return [_info(self._kept[key]) for key in ids[:limit]]

        return _each(page)

    def _found(self, conversation_id: str) -> Conversation:
        check_id(conversation_id)
        kept = self._kept.get(conversation_id)
        return Conversation(id=conversation_id) if kept is None else kept.conversation

    def _write(
        self,
        found: Conversation,
        messages: tuple[Message, ...],
        expected: int | None,
        now: datetime,
    ) -> int:
        version = next_version(found.id, found=found.version, expected=expected)
        written = Conversation(id=found.id, messages=messages, version=version)
        self._kept[found.id] = _Kept(conversation=written, updated_at=now)
        return version


def _info(kept: _Kept) -> ConversationInfo:
    return ConversationInfo(
        id=kept.conversation.id,
        messages=len(kept.conversation.messages),
        version=kept.conversation.version,
        updated_at=kept.updated_at,
    )


def _once(act: Callable[[datetime], T]) -> Observable[T]:
    return _each(lambda now: [act(now)])


def _each(act: Callable[[datetime], list[T]]) -> Observable[T]:
    def subscribe(
        observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        for item in act(write_time(scheduler)):  # RxPY makes an error of what it raises
            observer.on_next(item)
        observer.on_completed()
        return Disposable()

    return Observable(subscribe)
