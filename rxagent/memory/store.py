"""What every conversation store can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reactivex import Observable

from rxagent.choices import check_has
from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.messages import Message

__all__ = ["ConversationStore", "check_store"]


def check_store(store: object) -> None:
    """Refuse what keeps no conversations, before anything is asked.

    Args:
        store: What was given.

    Raises:
        ConfigurationError: If it cannot load one.
    """
    such_as = 'a store, such as MemoryStore() or SqliteStore("chats.db")'
    check_has("store", store, "load", such_as=such_as)


class ConversationStore(Protocol):
    """Where conversations are kept.

    Every method returns a cold observable: calling it does nothing, and each
    subscription does its work once, whatever an earlier one did.  A failure is the
    error of the stream and never raised at the call: `StoreError`, or `HistoryError`
    for messages that are there and cannot be read.

    A write is atomic.  It emits after it is done; a subscription that is disposed
    before has written everything or nothing.  Ids and marks of messages are kept.  A
    store may turn half of a surrogate pair, which UTF-8 cannot say, into U+FFFD.

    `rxagent.testing.assert_store_contract` checks all this.
    """

    def load(self, conversation_id: str) -> Observable[Conversation]:
        """Read a conversation.

        Args:
            conversation_id: Which; any text that UTF-8 can say, not empty, without
                NUL.

        Returns:
            Emits it once; an empty one at version 0, if there is none.
        """
        ...

    def append(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        """Put messages behind those that are there; make the conversation if need be.

        Args:
            conversation_id: Which.
            messages: Oldest first.  None at all write nothing.
            expected_version: What the conversation must be at; 0 says that there must
                be none.  Without it, behind whatever is there.

        Returns:
            Emits the new version once.

        Raises:
            ConflictError: As the error of the stream, if the conversation is at another
                version; nothing is written.
        """
        ...

    def replace(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        """Put messages in the place of those that are there.

        Args:
            conversation_id: Which.
            messages: Oldest first.  Without any, an empty conversation stays, and its
                version counts on.
            expected_version: As of `append`.

        Returns:
            Emits the new version once.

        Raises:
            ConflictError: As of `append`.
        """
        ...

    def delete(self, conversation_id: str) -> Observable[bool]:
        """Forget a conversation for good; no trace of it is left in the store.

        Args:
            conversation_id: Which.

        Returns:
            Emits once whether there was one.
        """
        ...

    def conversations(
        self, *, limit: int = 100, after: str | None = None
    ) -> Observable[ConversationInfo]:
        """List a page of conversations.

        Args:
            limit: How many at most.
            after: The last id of the page before; without it, the first page.

        Returns:
            Emits one item each, in the order of their ids' code points.
        """
        ...
