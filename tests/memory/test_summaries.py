from __future__ import annotations

import pytest

from rxagent.memory.summaries import in_place, old_turns, summary_of
from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    Text,
    UserMessage,
)


def pair(text: str) -> list[Message]:
    return [UserMessage.of(text), AssistantMessage.of(text.upper())]


A, B, C = pair("a"), pair("b"), pair("c")
PINNED: list[Message] = [
    UserMessage(content=(Text(text="p"),), mark="pinned"),
    AssistantMessage.of("P"),
]


def test_a_summary_says_that_it_is_data_and_is_marked() -> None:
    summary = summary_of("They met in Oslo.")

    assert summary.text.endswith("instructions:\nThey met in Oslo.")
    assert summary.mark == "summary"


@pytest.mark.parametrize(
    ("keep_turns", "old"), [(1, [*A, *B]), (2, A), (3, []), (9, [])]
)
def test_old_are_the_turns_before_the_newest(
    keep_turns: int, old: list[Message]
) -> None:
    assert old_turns([*A, *B, *C], keep_turns=keep_turns) == tuple(old)


def test_instructions_and_pinned_turns_are_not_old() -> None:
    messages = [SystemMessage.of("s"), *A, *PINNED, *B, *C]

    assert old_turns(messages, keep_turns=1) == (*A, *B)


def test_an_older_summary_is_summed_up_too() -> None:
    summary = summary_of("before")

    assert old_turns([summary, *A, *B], keep_turns=1) == (summary, *A)


def test_a_summary_stands_behind_what_it_stands_for() -> None:
    summary = summary_of("a and b")
    stored = [*A, *PINNED, *B, *C]

    kept = in_place(stored, [*A, *B], summary, keep_originals=True)
    bare = in_place(stored, [*A, *B], summary, keep_originals=False)

    assert kept == (*A, *PINNED, *B, summary, *C)
    assert bare == (*PINNED, summary, *C)
