"""Conversations taken back to an earlier turn, or continued in two ways."""

from __future__ import annotations

from dataclasses import replace

from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import StoreError
from rxagent.memory.conversation import Conversation
from rxagent.memory.store import ConversationStore
from rxagent.memory.turns import turn_starts
from rxagent.operators import concat_each

__all__ = ["fork", "rollback"]


def fork(
    store: ConversationStore,
    source_id: str,
    target_id: str,
    *,
    turns: int | None = None,
) -> Observable[Conversation]:
    """Copy a conversation, so that it can go on in two ways.

    Args:
        store: Where both are.
        source_id: Of the conversation that is there; it stays as it is.
        target_id: Of the new one.
        turns: How many of its first turns are copied; by default all.  What stands
            before the first turn is copied with them.

    Returns:
        A cold observable of the new conversation; its messages keep their ids.  The
        error is a `ConflictError` if ``target_id`` is there already, and a `StoreError`
        if there are fewer turns.  It is written wholly or not at all.

    Raises:
        ValueError: At the call, if ``turns`` is less than 1.
    """
    _check(turns)

    def write(found: Conversation) -> Observable[Conversation]:
        starts = turn_starts(found.messages)
        count = len(starts) if turns is None else turns
        _check_enough(found, starts, max(count, 1), "copied")
        end = [*starts, len(found.messages)][count]
        target = Conversation(id=target_id, messages=found.messages[:end])
        return _write(store, target)

    return store.load(source_id).pipe(concat_each(write))


def rollback(
    store: ConversationStore, conversation_id: str, *, turns: int = 1
) -> Observable[Conversation]:
    """Take back the last turns of a conversation, their tool rounds included.

    Args:
        store: Where it is.
        conversation_id: Which.
        turns: How many.

    Returns:
        A cold observable of what is left.  The error is a `StoreError` if there are
        fewer turns, and a `ConflictError` if somebody writes to it at the same time;
        nothing is written then, and ``reactivex.operators.retry`` takes back what is
        the last turn by then.

    Raises:
        ValueError: At the call, if ``turns`` is less than 1.
    """
    _check(turns)

    def write(found: Conversation) -> Observable[Conversation]:
        starts = turn_starts(found.messages)
        _check_enough(found, starts, turns, "taken back")
        return _write(store, replace(found, messages=found.messages[: starts[-turns]]))

    return store.load(conversation_id).pipe(concat_each(write))


def _check(turns: int | None) -> None:
    if turns is not None and turns < 1:
        raise ValueError(f"turns must be 1 or more, got {turns}")


def _check_enough(
    found: Conversation, starts: list[int], turns: int, what: str
) -> None:
    if len(starts) < turns:
        raise StoreError(
            found.id, f"has {len(starts)} turns, so {turns} cannot be {what}"
        )


def _write(
    store: ConversationStore, conversation: Conversation
) -> Observable[Conversation]:
    def written(version: int) -> Conversation:
        return replace(conversation, version=version)

    return store.replace(
        conversation.id, conversation.messages, expected_version=conversation.version
    ).pipe(ops.map(written))
