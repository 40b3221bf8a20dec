from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.memory import last_messages
from rxagent.memory.recall import recall
from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.requests import ChatRequest
from rxagent.wire import AnthropicDialect, OpenAIChatDialect
from tests.cases.invariants import check_invariants, neutral_messages
from tests.memory.mutilated import HISTORIES, INVARIANTS
from tests.test_laws import calls_made

HISTORY: list[Message] = [UserMessage.of("a"), AssistantMessage.of("A")]
NOW = UserMessage.of("now")
OLD, NEW = SystemMessage.of("old"), SystemMessage.of("new")


def texts(messages: Sequence[Message]) -> str:
    return " ".join(each.text for each in messages)


def renamed(messages: Sequence[Message]) -> list[Message]:
    """Equal messages with other ids, as another program would have made them."""
    return [replace(each, id=f"{each.id}'") for each in messages]


def test_a_history_stands_in_front_of_the_prompt() -> None:
    """S001-21."""
    assert recall(HISTORY, [NOW]) == (*HISTORY, NOW)
    assert recall([], [NOW]) == (NOW,)


def test_the_prompts_instructions_come_first_and_replace_older_ones() -> None:
    """S001-24, V-19; acceptance 55."""
    history = [OLD, *HISTORY]

    assert texts(recall(history, [NOW])) == "old a A now"
    assert texts(recall(history, [NEW, NOW])) == "new a A now"
    assert texts(recall(history, [NOW, NEW])) == "new a A now"
    two: list[Message] = [NEW, SystemMessage.of("more"), NOW]
    assert texts(recall(history, two)) == "new more a A now"


@pytest.mark.parametrize(
    "before", [[], [UserMessage.of("0"), AssistantMessage.of("1")]]
)
def test_what_the_prompt_holds_is_not_put_in_front_again(
    before: list[Message],
) -> None:
    """S001-22; acceptance 54: by id, or else as an equal run anywhere."""
    for held in (HISTORY, renamed(HISTORY)):
        prompt = [NEW, *before, *held, NOW]
        assert recall(HISTORY, prompt) == tuple(prompt)


def test_a_part_of_the_history_is_known_by_its_ids() -> None:
    more: list[Message] = [UserMessage.of("b"), AssistantMessage.of("B")]

    assert texts(recall([*HISTORY, *more], [*more, NOW])) == "a A b B now"
    assert texts(recall([*HISTORY, *more], renamed([*more, NOW]))) == "a A b B b B now"


def test_the_rounds_of_an_open_turn_are_sent_once() -> None:
    """What a memory inside the loop has stored, the loop brings along."""
    call = ToolCall(id="x", name="f")
    called, result = AssistantMessage.of(call), ToolMessage.of("r", call=call)
    stored: list[Message] = [*HISTORY, NOW, called]

    assert recall(stored, [NOW, called, result]) == (*HISTORY, NOW, called, result)


def test_only_the_history_is_mended() -> None:
    """A caller's two messages in a row are the caller's."""
    document = UserMessage.of("document")
    shown = recall([UserMessage.of("half")], [document, NOW])

    assert [each.role for each in shown] == ["user", "assistant", "user", "user"]


def test_a_window_holds_for_history_and_prompt_together() -> None:
    long: list[Message] = [*HISTORY, *renamed(HISTORY), *renamed(renamed(HISTORY))]

    assert len(recall(long, [NOW], window=last_messages(3))) == 3
    assert len(recall([], [*long, NOW], window=last_messages(3))) == 3
    assert texts(recall(long, [NEW, NOW], window=last_messages(3))) == "new a A now"


def test_a_window_that_cuts_anywhere_is_mended() -> None:
    call = ToolCall(id="x", name="f")
    turn: list[Message] = [
        UserMessage.of("u"),
        AssistantMessage.of(call),
        ToolMessage.of("r", call=call),
    ]

    shown = recall([*turn, AssistantMessage.of("A")], [NOW], window=lambda m: m[-3:])

    assert shown == (NOW,)


@pytest.mark.parametrize("left", [0, 1, 2])
def test_no_window_cuts_the_turn_that_is_asked_now(left: int) -> None:
    """Acceptance 57: without its question, or with half a round, it is no turn."""
    call = ToolCall(id="x", name="f")
    result = ToolMessage.of("r", call=call)
    turn: list[Message] = [NOW, AssistantMessage.of(call), result]

    def last(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return messages[len(messages) - left :]

    assert recall(HISTORY, turn, window=last) == tuple(turn)


def test_a_history_starts_at_its_newest_summary_and_keeps_what_is_pinned() -> None:
    def marked(text: str, mark: str) -> Message:
        return UserMessage(content=(Text(text=text),), mark=mark)  # type: ignore[arg-type]

    pinned = [marked("p", "pinned"), AssistantMessage.of("P")]
    summaries = [marked("first", "summary"), marked("second", "summary")]
    history = [OLD, *pinned, *HISTORY, summaries[0], *HISTORY, summaries[1], *HISTORY]

    taken = "(I go on from there.)"
    assert texts(recall(history, [NOW])) == f"old p P second {taken} a A now"
    assert texts(recall(history[-3:], [NOW])) == f"second {taken} a A now"


@given(HISTORIES, st.booleans())
def test_nothing_is_sent_twice_and_the_prompt_is_last(
    history: tuple[Message, ...], is_known: bool
) -> None:
    prompt = (*(history if is_known else ()), NOW)
    shown = recall(history, prompt)

    ids = [each.id for each in shown]
    assert len({*ids}) == len(ids)
    spoken = [each.id for each in prompt if each.role != "system"]
    assert ids[len(ids) - len(spoken) :] == spoken


@given(HISTORIES, st.integers(1, 6), st.booleans())
def test_whatever_is_cut_out_of_whatever_was_left_is_valid(
    history: tuple[Message, ...], n: int, is_own: bool
) -> None:
    """S000-82: with a window of ours, and with one that cuts anywhere."""

    def anywhere(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return messages[-n:]

    shown = recall(history, [NOW], window=last_messages(n) if is_own else anywhere)

    assert shown[-1] is NOW
    request = ChatRequest(messages=shown)
    for protocol, dialect in (
        ("openai-chat", OpenAIChatDialect()),
        ("anthropic-messages", AnthropicDialect()),
    ):
        body = json.loads(dialect.encode(request, model="m", stream=True))
        check_invariants(INVARIANTS, neutral_messages(body, protocol))


@pytest.mark.parametrize("is_same", [True, False], ids=["one text", "other texts"])
@pytest.mark.parametrize("holds", ["ids", "run", "almost", "nothing"])
def test_a_thousand_messages_cost_twice_what_five_hundred_do(
    is_same: bool, holds: str
) -> None:
    """S001-23: no message is compared with every other one."""

    def work(size: int) -> int:
        history: list[Message] = []
        for number in range(size // 2):
            text = "x" if is_same else f"x{number}"
            history += [UserMessage.of(text), AssistantMessage.of(text)]
        prompt: list[Message] = {
            "ids": history,
            "run": renamed(history),
            "almost": [*renamed(history[2:]), UserMessage.of("y"), *history[2:]],
            "nothing": [],
        }[holds]
        return calls_made(lambda: recall(history, [*prompt, NOW]))

    small, large = work(500), work(1_000)
    assert large <= 2.1 * small
    assert large <= 20 * 1_000
