"""How a turn gets into a store while others write to the same conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import ConflictError
from rxagent.memory.conversation import Conversation
from rxagent.memory.store import ConversationStore
from rxagent.messages import Message, UserMessage
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
        messages: Oldest first; those that are stored, by their ids, are left out.  A
            question that another turn has asked and answered meanwhile, as when a flow
            is subscribed to twice at once, gets an id of its own.

    Returns:
        A cold observable of the new version.  If somebody else has written meanwhile,
        the conversation is loaded again, what is missing is appended behind it, and so
        on; after five such conflicts, whatever the version is.  An append is atomic, so
        nothing is lost and no turn stands within another.
    """
    turn = tuple(messages)

    def attempt(known: Conversation, checked: int) -> Observable[int]:
        missing = _missing(turn, known.messages)
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


def _missing(turn: Sequence[Message], stored: Sequence[Message]) -> list[Message]:
    """What of a turn is to be written behind what is stored."""
    ids = {each.id for each in stored}
    missing = [each for each in turn if each.id not in ids]
    if len(missing) == len(turn) - 1 > 0 and turn[0].id in ids:
        asked = turn[0]
        if isinstance(asked, UserMessage) and asked.id != stored[-1].id:
            return [UserMessage(content=asked.content, mark=asked.mark), *missing]
    return missing
