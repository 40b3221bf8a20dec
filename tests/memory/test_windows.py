from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import ConfigurationError
from rxagent.memory import Window, heal, last_messages, last_tokens, last_turns
from rxagent.memory.turns import split_turns
from rxagent.messages import (
    AssistantMessage,
    Mark,
    Message,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tests.memory.mutilated import HISTORIES


def user(text: str, mark: Mark | None = None) -> UserMessage:
    return UserMessage(content=(Text(text=text),), mark=mark)


def pair(text: str, mark: Mark | None = None) -> list[Message]:
    return [user(text, mark), AssistantMessage.of(text.upper())]


def with_tools(text: str, rounds: int) -> list[Message]:
    messages: list[Message] = [user(text)]
    for number in range(rounds):
        call = ToolCall(id=f"{text}{number}", name="f")
        messages += [AssistantMessage.of(call), ToolMessage.of("r", call=call)]
    return [*messages, AssistantMessage.of(text.upper())]


def texts(messages: tuple[Message, ...]) -> str:
    return " ".join(each.text for each in messages if each.role != "tool")


THREE = (*pair("a"), *pair("b"), *pair("c"))


@pytest.mark.parametrize(
    ("window", "kept"),
    [
        (last_messages(1), "c C"),
        (last_messages(2), "c C"),
        (last_messages(3), "c C"),
        (last_messages(4), "b B c C"),
        (last_messages(9), "a A b B c C"),
        (last_turns(1), "c C"),
        (last_turns(2), "b B c C"),
        (last_turns(9), "a A b B c C"),
        (last_tokens(2, count=lambda _: 1), "c C"),
        (last_tokens(5, count=lambda _: 1), "b B c C"),
        (last_tokens(20), "b B c C"),
    ],
)
def test_a_window_keeps_the_newest_turns_that_fit(window: Window, kept: str) -> None:
    """S001-34, M-69; acceptance 56."""
    assert texts(window(THREE)) == kept


def test_a_turn_with_tools_is_kept_whole_or_not_at_all() -> None:
    messages = (*with_tools("a", 2), *pair("b"))

    assert texts(last_messages(7)(messages)) == "b B"
    assert last_messages(8)(messages) == messages


def test_an_old_short_turn_does_not_come_back_behind_a_long_one() -> None:
    messages = (*pair("a"), *with_tools("b", 5), *pair("c"))

    assert texts(last_messages(6)(messages)) == "c C"


def test_the_open_turn_is_never_cut() -> None:
    """Acceptance 57."""
    call = ToolCall(id="x", name="f")
    running = (user("c"), AssistantMessage.of(call), ToolMessage.of("r", call=call))

    for window in (last_messages(1), last_turns(1), last_tokens(1)):
        assert window((*THREE, *running)) == running


def test_instructions_are_not_counted_and_the_newest_are_first_and_alone() -> None:
    """V-19, M-69."""
    old, new = SystemMessage.of("old"), SystemMessage.of("new")

    for window in (last_messages(2), last_turns(1), last_tokens(10)):
        assert texts(window((old, *THREE, new))) == "new c C"


@pytest.mark.parametrize("mark", ["pinned", "summary"])
def test_what_is_marked_stays_however_old_it_is(mark: Mark) -> None:
    messages = (*pair("a"), *pair("b", mark), *pair("c"), *pair("d"))

    assert texts(last_messages(2)(messages)) in ("b B d D", "b d D")


def test_what_stands_before_the_first_question_is_left_out() -> None:
    """V-19: no orphan starts the window."""
    head = AssistantMessage.of("orphan")

    assert last_messages(9)((head, *THREE)) == THREE
    assert last_messages(9)((head,)) == (head,)


def test_only_what_may_fit_is_counted() -> None:
    """Law 9: an old conversation costs no more than a young one."""
    asked: list[str] = []

    def count(message: Message) -> int:
        asked.append(message.text)
        return 1

    last_tokens(4, count=count)(tuple(pair("x") * 1_000))

    assert len(asked) <= 8


@pytest.mark.parametrize("make", [last_messages, last_turns, last_tokens])
def test_a_window_of_nothing_is_refused(make: Callable[[int], Window]) -> None:
    with pytest.raises(ConfigurationError, match="must be 1 or more"):
        make(0)
    assert repr(make(3)) == f"{make.__name__}(3)"


@given(HISTORIES, st.integers(1, 8))
def test_a_window_is_whole_turns_in_their_order(
    history: tuple[Message, ...], n: int
) -> None:
    healthy = heal(history)
    for window in (last_messages(n), last_turns(n), last_tokens(n)):
        kept = window(healthy)
        ids = [each.id for each in kept if each.role != "system"]
        assert ids == [each.id for each in healthy if each.id in {*ids}]
        assert {*split_turns(kept)} <= {*split_turns(healthy)}
        assert kept[-1:] == healthy[-1:]
        assert heal(kept) == kept
