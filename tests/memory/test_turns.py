from __future__ import annotations

from hypothesis import given

from rxagent.memory import heal
from rxagent.memory.turns import is_pinned, split_turns, turn_starts
from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tests.memory.mutilated import HISTORIES

CALL = ToolCall(id="1", name="f")
USER, ANSWER = UserMessage.of("u"), AssistantMessage.of("a")
CALLED, RESULT = AssistantMessage.of(CALL), ToolMessage.of("r", call=CALL)
SUMMARY = UserMessage(content=(Text(text="s"),), mark="summary")


def sizes(*messages: Message) -> list[int]:
    return [len(turn) for turn in split_turns(messages)]


def test_a_turn_is_a_question_with_all_that_follows() -> None:
    assert sizes(USER, CALLED, RESULT, ANSWER, USER, ANSWER, USER) == [4, 2, 1]
    assert sizes() == []


def test_two_questions_in_a_row_are_one_turn_and_a_summary_is_its_own() -> None:
    assert sizes(USER, USER, ANSWER) == [3]
    assert sizes(SUMMARY, USER, USER, ANSWER) == [1, 3]


def test_a_summary_behind_a_question_without_an_answer_is_its_own() -> None:
    """It stands behind the last message that it stands for, whatever that is."""
    assert sizes(USER, SUMMARY, USER, ANSWER) == [1, 1, 2]
    assert sizes(*heal([USER, SUMMARY, USER, ANSWER])) == [2, 2, 2]


def test_a_turn_starts_with_what_the_user_says_and_not_with_a_summary() -> None:
    system = SystemMessage.of("s")

    found = turn_starts([system, SUMMARY, USER, ANSWER, USER, system, USER, ANSWER])
    assert found == [2, 4]
    assert turn_starts([USER, SUMMARY, USER]) == [0, 2]
    assert turn_starts(()) == []


@given(HISTORIES)
def test_what_is_taken_back_is_what_a_window_takes_for_a_turn(
    history: tuple[Message, ...],
) -> None:
    asked = [
        turn[0]
        for turn in split_turns(history)
        if isinstance(turn[0], UserMessage) and turn[0].mark != "summary"
    ]

    assert [id(history[start]) for start in turn_starts(history)] == [*map(id, asked)]


def test_instructions_are_in_no_turn() -> None:
    system = SystemMessage.of("s")

    assert sizes(system, USER, system, ANSWER, system) == [2]


def test_what_has_no_question_is_a_turn_without_one() -> None:
    assert sizes(ANSWER, RESULT, USER) == [2, 1]


def test_a_turn_is_pinned_by_any_of_its_messages() -> None:
    pinned = AssistantMessage(content=(Text(text="a"),), mark="pinned")

    assert is_pinned([USER, pinned])
    assert not is_pinned([USER, SUMMARY])
