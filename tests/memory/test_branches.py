from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import ConflictError, StoreError
from rxagent.memory import Conversation, MemoryStore, fork, rollback
from rxagent.memory.turns import turn_starts
from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.runtime import run

CALL = ToolCall(id="1", name="weather")
SUMMARY = replace(UserMessage.of("what was before"), mark="summary")
FIRST = (UserMessage.of("hello"), AssistantMessage.of("hi"))
SECOND = (
    UserMessage.of("the weather"),
    UserMessage.of("in Bern"),
    AssistantMessage.of(CALL),
    ToolMessage.of("sun", call=CALL),
    AssistantMessage.of("it shines"),
)
THIRD = (UserMessage.of("bye"),)
HEAD = (SystemMessage.of("be brief"), SUMMARY)
ALL: tuple[Message, ...] = (*HEAD, *FIRST, *SECOND, *THIRD)

KINDS = st.sampled_from(ALL)


def store_with(*messages: Message) -> MemoryStore:
    store = MemoryStore()
    run(store.append("a", messages))
    return store


@pytest.mark.parametrize(
    ("turns", "left"),
    [(1, (*HEAD, *FIRST, *SECOND)), (2, (*HEAD, *FIRST)), (3, HEAD)],
)
def test_rollback_takes_back_whole_turns(turns: int, left: tuple[Message, ...]) -> None:
    store = store_with(*ALL)

    what_is_left = run(rollback(store, "a", turns=turns))

    assert what_is_left.messages == left
    assert what_is_left == run(store.load("a"))
    assert what_is_left.version == 2


@pytest.mark.parametrize(
    ("turns", "copied"),
    [
        (1, (*HEAD, *FIRST)),
        (2, (*HEAD, *FIRST, *SECOND)),
        (3, ALL),
        (None, ALL),
    ],
)
def test_a_fork_has_the_first_turns_and_leaves_the_source(
    turns: int | None, copied: tuple[Message, ...]
) -> None:
    store = store_with(*ALL)

    made = run(fork(store, "a", "b", turns=turns))
    run(store.append("b", THIRD))

    assert made.messages == copied
    assert [each.id for each in made.messages] == [each.id for each in copied]
    assert (made.id, made.version) == ("b", 1)
    assert run(store.load("b")).messages == (*copied, *THIRD)
    assert run(store.load("a")).messages == ALL


@given(st.lists(KINDS).map(tuple), st.integers(1, 4))
def test_what_a_fork_copies_and_a_rollback_takes_is_the_whole(
    messages: tuple[Message, ...], turns: int
) -> None:
    store = store_with(*messages)
    count = len(turn_starts(messages))
    if turns >= count:
        return

    first = run(fork(store, "a", "b", turns=count - turns)).messages
    left = run(rollback(store, "a", turns=turns)).messages

    assert first == left == messages[: len(left)]
    assert isinstance(messages[len(left)], UserMessage)


def test_there_are_no_more_turns_than_there_are() -> None:
    store = store_with(*ALL)

    with pytest.raises(StoreError, match="'a' has 3 turns, so 4 cannot be taken back"):
        run(rollback(store, "a", turns=4))
    with pytest.raises(StoreError, match="'a' has 3 turns, so 4 cannot be copied"):
        run(fork(store, "a", "b", turns=4))
    with pytest.raises(StoreError, match="'c' has 0 turns, so 1 cannot be copied"):
        run(fork(store, "c", "b"))

    assert run(store.load("a")).version == 1
    assert run(store.load("b")).version == 0


def test_no_turns_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        rollback(MemoryStore(), "a", turns=0)
    with pytest.raises(ValueError, match="1 or more"):
        fork(MemoryStore(), "a", "b", turns=-1)


def test_a_fork_takes_no_conversation_s_place() -> None:
    store = store_with(*ALL)

    with pytest.raises(ConflictError):
        run(fork(store, "a", "a"))

    assert run(store.load("a")).version == 1


def test_a_rollback_that_meets_a_writer_takes_nothing_and_can_be_retried() -> None:
    """The turn that came in between is the last one by then."""
    writes: list[Sequence[Message]] = [SECOND]

    class Busy(MemoryStore):
        def load(self, conversation_id: str) -> Observable[Conversation]:
            def interfere(found: Conversation) -> None:
                if found.messages and writes:
                    self.append("a", writes.pop()).subscribe()

            return super().load(conversation_id).pipe(ops.do_action(interfere))

    store = Busy()
    run(store.append("a", FIRST))

    with pytest.raises(ConflictError):
        run(rollback(store, "a"))
    assert run(store.load("a")).messages == (*FIRST, *SECOND)

    writes.append(THIRD)
    left = run(rollback(store, "a").pipe(ops.retry(2)))

    assert left.messages == (*FIRST, *SECOND)
    assert left == run(store.load("a"))


def test_branches_are_cold() -> None:
    store = store_with(*ALL)
    taking = rollback(store, "a")

    assert run(store.load("a")).version == 1
    assert [run(taking).version, run(taking).version] == [2, 3]
    assert run(store.load("a")).messages == (*HEAD, *FIRST)
