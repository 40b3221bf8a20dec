from __future__ import annotations

from collections.abc import Sequence

from reactivex import Observable
from reactivex import operators as ops

from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.memory.store import ConversationStore
from rxagent.memory.vectors import VectorIndex
from rxagent.messages import Message
from rxagent.operators import concat_each

__all__ = ["IndexedStore"]


class IndexedStore:
    """A store whose `delete` forgets the vectors of a conversation too.

    Args:
        store: Does everything else.
        index: What `vector_memory` writes to.
    """

    def __init__(self, store: ConversationStore, index: VectorIndex) -> None:
        self._store = store
        self._index = index

    def load(self, conversation_id: str) -> Observable[Conversation]:
        """Read a conversation; see `ConversationStore.load`."""
        return self._store.load(conversation_id)

    def append(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        """Put messages behind the others; see `ConversationStore.append`."""
        return self._store.append(
            conversation_id, messages, expected_version=expected_version
        )

    def replace(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        """Put messages in the place of the others; see `ConversationStore.replace`.

        The vectors of those stay: delete them yourself if they must go.
        """
        return self._store.replace(
            conversation_id, messages, expected_version=expected_version
        )

    def delete(self, conversation_id: str) -> Observable[bool]:
        """Forget a conversation, its vectors first; see `ConversationStore.delete`.

        If one of the two fails, what is left can be deleted again.
        """

        def rest(vectors: int) -> Observable[bool]:
            return self._store.delete(conversation_id).pipe(
                ops.map(lambda there: there or vectors > 0)
            )

        return self._index.delete(conversation_id).pipe(concat_each(rest))

    def conversations(
        self, *, limit: int = 100, after: str | None = None
    ) -> Observable[ConversationInfo]:
        """List a page of conversations; see `ConversationStore.conversations`."""
        return self._store.conversations(limit=limit, after=after)
