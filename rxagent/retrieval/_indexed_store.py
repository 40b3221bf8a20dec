from __future__ import annotations

from collections.abc import Sequence

from reactivex import Observable
from reactivex import operators as ops

from rxagent.choices import check_has
from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.memory.store import ConversationStore, check_store
from rxagent.messages import Message
from rxagent.operators import concat_each, just
from rxagent.retrieval.filters import Filter
from rxagent.retrieval.index import DocumentIndex
from rxagent.retrieval.once import one
from rxagent.retrieval.remembered import remembered_id, said_in

__all__ = ["IndexedStore"]


class IndexedStore:
    """A store of conversations that takes what it forgets out of an index, too.

    Args:
        store: Does everything else.
        index: What `vector_memory` writes to.

    Raises:
        ConfigurationError: If either is something else.
    """

    def __init__(self, store: ConversationStore, index: DocumentIndex) -> None:
        check_store(store)
        check_has("index", index, "ids", such_as="an index, such as MemoryDocuments()")
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

        Messages that are no longer there leave the index, once that is written; so what
        was taken back is not recalled.
        """
        kept = tuple(messages)

        def write(found: Conversation) -> Observable[int]:
            gone = {each.id for each in found.messages} - {each.id for each in kept}

            def forget(version: int) -> Observable[int]:
                ids = [remembered_id(conversation_id, each) for each in sorted(gone)]
                return self._forget(ids).pipe(ops.map(lambda _: version))

            written = self._store.replace(
                conversation_id, kept, expected_version=expected_version
            )
            return written.pipe(concat_each(forget)) if gone else written

        return self._store.load(conversation_id).pipe(concat_each(write))

    def delete(self, conversation_id: str) -> Observable[bool]:
        """Forget a conversation, in the index first; see `ConversationStore.delete`.

        If one of the two fails, what is left can be deleted again.
        """

        def forget(_: object) -> Observable[int]:
            return self._forget(said_in(conversation_id))

        def rest(documents: int) -> Observable[bool]:
            return self._store.delete(conversation_id).pipe(
                ops.map(lambda there: there or documents > 0)
            )

        return just(None).pipe(concat_each(forget), concat_each(rest))

    def conversations(
        self, *, limit: int = 100, after: str | None = None
    ) -> Observable[ConversationInfo]:
        """List a page of conversations; see `ConversationStore.conversations`."""
        return self._store.conversations(limit=limit, after=after)

    def _forget(self, which: Sequence[str] | Filter) -> Observable[int]:
        return one("delete of the index", self._index.delete(which))
