"""The contract tells a store that keeps it from one that almost does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import pytest
from reactivex import Observable
from reactivex import operators as ops

from rxagent.memory import (
    Conversation,
    ConversationInfo,
    ConversationStore,
    MemoryStore,
)
from rxagent.messages import Message
from rxagent.operators import just
from rxagent.runtime import block, run
from rxagent.testing import assert_store_contract

Messages: TypeAlias = tuple[Message, ...]
Write: TypeAlias = Callable[[str, Messages, int | None], Observable[int]]


class Appending(MemoryStore):
    """A store whose `append` is another one, made of the true one."""

    def __init__(self, how: Callable[[MemoryStore, Write], Write]) -> None:
        super().__init__()

        def write(
            which: str, messages: Messages, expected: int | None
        ) -> Observable[int]:
            return MemoryStore.append(self, which, messages, expected_version=expected)

        self._how = how(self, write)

    def append(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        return self._how(conversation_id, tuple(messages), expected_version)


def with_new_ids(_: MemoryStore, write: Write) -> Write:
    return lambda which, messages, expected: write(
        which, tuple(replace(each, id="new") for each in messages), expected
    )


def without_marks(_: MemoryStore, write: Write) -> Write:
    return lambda which, messages, expected: write(
        which, tuple(replace(each, mark=None) for each in messages), expected
    )


def without_versions(_: MemoryStore, write: Write) -> Write:
    return lambda which, messages, _: write(which, messages, None)


def at_the_call(_: MemoryStore, write: Write) -> Write:
    return lambda which, messages, expected: just(run(write(which, messages, expected)))


def one_by_one(_: MemoryStore, write: Write) -> Write:
    def each(which: str, messages: Messages, expected: int | None) -> Observable[int]:
        first = write(which, messages[:1], expected)
        rest = (write(which, (message,), None) for message in messages[1:])
        return first.pipe(ops.concat(*rest), ops.last())

    return each


def read_then_written(store: MemoryStore, write: Write) -> Write:
    def late(which: str, messages: Messages, expected: int | None) -> Observable[int]:
        if expected is not None or not messages:
            return write(which, messages, expected)

        def behind(found: Conversation) -> Observable[int]:
            return store.replace(which, found.messages + messages)

        return store.load(which).pipe(ops.delay(0.001), ops.flat_map(behind))

    return late


class Folding(MemoryStore):
    """Ids that differ in case are one, as to MySQL by default."""

    def load(self, conversation_id: str) -> Observable[Conversation]:
        return super().load(conversation_id.casefold())


class Remembering(MemoryStore):
    def delete(self, conversation_id: str) -> Observable[bool]:
        def was_there(found: Conversation) -> bool:
            return found.version > 0

        return self.load(conversation_id).pipe(ops.map(was_there))


class OnePage(MemoryStore):
    def conversations(
        self, *, limit: int = 100, after: str | None = None
    ) -> Observable[ConversationInfo]:
        return super().conversations(after=after)


class InOrderOfTime(MemoryStore):
    def conversations(
        self, *, limit: int = 100, after: str | None = None
    ) -> Observable[ConversationInfo]:
        infos = block(super().conversations(limit=limit, after=after))
        return just(*sorted(infos, key=lambda info: info.updated_at))


class TakingAnyId(MemoryStore):
    def load(self, conversation_id: str) -> Observable[Conversation]:
        if "\0" in conversation_id:
            return just(Conversation(id=conversation_id))
        return super().load(conversation_id)


@pytest.mark.parametrize(
    ("store", "says"),
    [
        (Appending(with_new_ids), "the id of a message"),
        (Appending(without_marks), "the mark of a message"),
        (Appending(without_versions), "version 1 was taken for version 0"),
        (Appending(at_the_call), "what is there before a subscription"),
        (Appending(one_by_one), "two subscriptions"),
        (Appending(read_then_written), "the messages"),
        (Folding(), "the conversation"),
        (Remembering(), "two subscriptions"),
        (OnePage(), "a page of two"),
        (InOrderOfTime(), "the order of ids"),
        (TakingAnyId(), "not every store can keep"),
    ],
)
def test_a_store_that_breaks_a_promise_is_told_which(
    store: ConversationStore, says: str
) -> None:
    with pytest.raises(AssertionError, match=says):
        assert_store_contract(store)


def test_the_contract_leaves_nothing_behind_and_touches_nothing_else() -> None:
    store = MemoryStore()
    run(store.replace("mine", ()))

    assert_store_contract(store)

    assert [info.id for info in block(store.conversations())] == ["mine"]
    assert run(store.load("mine")).version == 1
