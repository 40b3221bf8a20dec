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
    """A store that forgets the vectors of what it forgets.

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

        The vectors of messages that are no longer there go too, once that is written;
        so what was taken back is not recalled.
        """
        kept = tuple(messages)

        def write(found: Conversation) -> Observable[int]:
            gone = {each.id for each in found.messages} - {each.id for each in kept}

            def forget(version: int) -> Observable[int]:
                forgotten = self._index.delete(conversation_id, ids=gone)
                return forgotten.pipe(ops.map(lambda _: version))

            written = self._store.replace(
                conversation_id, kept, expected_version=expected_version
            )
            return written.pipe(concat_each(forget)) if gone else written

        return self._store.load(conversation_id).pipe(concat_each(write))

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
