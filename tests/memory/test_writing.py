from __future__ import annotations

from collections.abc import Sequence

import pytest
import reactivex
from reactivex import Observable

from rxagent.errors import ConflictError, StoreError
from rxagent.memory import Conversation, MemoryStore
from rxagent.memory.writing import append_turn
from rxagent.messages import AssistantMessage, Message, UserMessage
from rxagent.runtime import Flow

TURN: list[Message] = [UserMessage.of("a"), AssistantMessage.of("A")]
OTHER: list[Message] = [UserMessage.of("b"), AssistantMessage.of("B")]
EMPTY = Conversation(id="c")


class Busy(MemoryStore):
    """A store to which somebody else writes right before each checked write."""

    def __init__(self, times: int, others: Sequence[Message] = OTHER) -> None:
        super().__init__()
        self.times = times
        self.others = others
        self.expected: list[int | None] = []

    def append(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        self.expected.append(expected_version)
        if self.times:
            self.times -= 1
            super().append(conversation_id, self.others).subscribe()
        return super().append(
            conversation_id, messages, expected_version=expected_version
        )


def stored(store: MemoryStore) -> list[str]:
    return [each.text for each in Flow.of(store.load("c")).run().messages]


def test_a_turn_is_appended_in_one_piece_and_nothing_happens_before() -> None:
    store = MemoryStore()
    appended = append_turn(store, EMPTY, TURN)
    assert stored(store) == []

    assert Flow.of(appended).run() == 1
    assert stored(store) == ["a", "A"]


def test_what_is_stored_already_is_left_out() -> None:
    store = MemoryStore()
    Flow.of(store.append("c", TURN[:1])).run()
    known = Flow.of(store.load("c")).run()

    assert Flow.of(append_turn(store, known, TURN)).run() == 2
    assert stored(store) == ["a", "A"]
    assert Flow.of(append_turn(store, known, TURN[:1])).run() == 1
    assert Flow.of(append_turn(store, known, [])).run() == 1


@pytest.mark.parametrize("times", [1, 3, 5, 6])
def test_somebody_elses_turn_stays_and_this_one_stands_behind_it(times: int) -> None:
    """Acceptance 62."""
    store = Busy(times)

    Flow.of(append_turn(store, EMPTY, TURN)).run()

    assert stored(store) == ["b", "B"] * times + ["a", "A"]


def test_after_five_conflicts_the_version_does_not_matter_any_more() -> None:
    store = Busy(100)

    Flow.of(append_turn(store, EMPTY, TURN)).run()

    assert store.expected == [0, 1, 2, 3, 4, None]


def test_a_turn_that_somebody_else_has_stored_is_not_stored_again() -> None:
    store = Busy(1, others=TURN)

    assert Flow.of(append_turn(store, EMPTY, TURN)).run() == 1
    assert stored(store) == ["a", "A"]


@pytest.mark.parametrize("others", [[], TURN[:1]], ids=["new", "asked in vain before"])
def test_a_question_that_two_turns_ask_at_once_is_stored_for_each(
    others: list[Message],
) -> None:
    """Acceptance 62: they may have it from one flow."""
    store = MemoryStore()
    Flow.of(store.append("c", others)).run()
    known = Flow.of(store.load("c")).run()
    second = [TURN[0], AssistantMessage.of("B")]

    Flow.of(append_turn(store, known, TURN)).run()
    Flow.of(append_turn(store, known, second)).run()
    Flow.of(append_turn(store, known, second[1:])).run()

    assert stored(store) == ["a", "A", "a", "B"]
    messages = Flow.of(store.load("c")).run().messages
    assert len({each.id for each in messages}) == 4


def test_another_error_of_the_store_is_the_error() -> None:
    class Broken(MemoryStore):
        def append(
            self,
            conversation_id: str,
            messages: Sequence[Message],
            *,
            expected_version: int | None = None,
        ) -> Observable[int]:
            return reactivex.throw(StoreError(conversation_id, "is on fire"))

    with pytest.raises(StoreError, match="on fire") as at:
        Flow.of(append_turn(Broken(), EMPTY, TURN)).run()
    assert not isinstance(at.value, ConflictError)
