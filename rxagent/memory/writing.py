"""How a turn gets into a store while others write to the same conversation."""

from __future__ import annotations

from collections.abc import Iterable

from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import ConflictError
from rxagent.memory.conversation import Conversation
from rxagent.memory.store import ConversationStore
from rxagent.messages import Message
from rxagent.operators import concat_each, just

__all__ = ["append_turn"]

_CHECKED = 5  # writes that mind the version, before one that does not


def append_turn(
    store: ConversationStore, conversation: Conversation, messages: Iterable[Message]
) -> Observable[int]:
    """Append what a conversation does not hold yet, in one piece.

    Args:
        store: Where.
        conversation: As it was loaded.
        messages: Oldest first; those that are stored, by their ids, are left out.

    Returns:
        A cold observable of the new version.  If somebody else has written meanwhile,
        the conversation is loaded again, what is missing is appended behind it, and so
        on; after five such conflicts, whatever the version is.  An append is atomic, so
        nothing is lost and no turn stands within another.
    """
    turn = tuple(messages)

    def attempt(known: Conversation, checked: int) -> Observable[int]:
        stored = {each.id for each in known.messages}
        missing = [each for each in turn if each.id not in stored]
        if not missing:
            return just(known.version)

        def again(error: Exception, _: Observable[int]) -> Observable[int]:
            if not isinstance(error, ConflictError):
                raise error

            def retry(found: Conversation) -> Observable[int]:
                return attempt(found, checked - 1)

            return store.load(known.id).pipe(concat_each(retry))

        expected = known.version if checked else None
        appended = store.append(known.id, missing, expected_version=expected)
        return appended.pipe(ops.catch(again))

    return attempt(conversation, _CHECKED)
