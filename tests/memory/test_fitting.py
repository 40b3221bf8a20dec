from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.memory import heal
from rxagent.memory.fitting import fitted
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

SYSTEM = SystemMessage.of("s")


def pair(text: str, mark: Mark | None = None) -> list[Message]:
    question = UserMessage(content=(Text(text=text),), mark=mark)
    return [question, AssistantMessage.of(text.upper())]


def rounds(number: int) -> list[Message]:
    """Each of a call and its result."""
    messages: list[Message] = []
    for name in "123456789"[:number]:
        call = ToolCall(id=name, name="f")
        result = ToolMessage.of(name, call=call)
        messages += [AssistantMessage.of(f"call {name}", call), result]
    return messages


def left(messages: Sequence[Message], max_tokens: int) -> str:
    kept = fitted(messages, max_tokens=max_tokens, count=lambda _: 1)
    return " ".join(each.text for each in kept)


@pytest.mark.parametrize(
    ("max_tokens", "kept"),
    [
        (9, "s a A b B q"),
        (6, "s a A b B q"),
        (5, "s b B q"),
        (4, "s b B q"),
        (3, "s q"),
        (2, "s q"),
        (1, "s q"),
    ],
)
def test_the_oldest_turns_go_until_the_rest_fits(max_tokens: int, kept: str) -> None:
    """S001-83, S001-84: and a prompt is never empty."""
    messages = [SYSTEM, *pair("a"), *pair("b"), UserMessage.of("q")]

    assert left(messages, max_tokens) == kept


@pytest.mark.parametrize(
    ("max_tokens", "kept"),
    [
        (9, "a A q call 1 1 call 2 2 call 3 3"),
        (8, "q call 1 1 call 2 2 call 3 3"),
        (7, "q call 1 1 call 2 2 call 3 3"),
        (6, "q call 2 2 call 3 3"),
        (5, "q call 2 2 call 3 3"),
        (4, "q call 3 3"),
        (1, "q call 3 3"),
    ],
)
def test_then_the_oldest_rounds_of_the_open_turn_go(max_tokens: int, kept: str) -> None:
    messages = [*pair("a"), UserMessage.of("q"), *rounds(3)]

    assert left(messages, max_tokens) == kept


def test_what_is_pinned_stays_and_takes_its_room() -> None:
    messages = [*pair("p", "pinned"), *pair("a"), UserMessage.of("q"), *rounds(3)]

    assert left(messages, 7) == "p P q call 2 2 call 3 3"


@given(HISTORIES, st.integers(1, 20))
def test_what_is_left_is_valid_and_fits_if_it_can(
    history: tuple[Message, ...], max_tokens: int
) -> None:
    healthy = heal(history)
    kept = fitted(healthy, max_tokens=max_tokens, count=lambda _: 1)

    assert heal(kept) == kept
    assert bool(kept) == bool(healthy)
    if len(healthy) <= max_tokens:
        assert kept == healthy
    assert fitted(kept, max_tokens=max_tokens, count=lambda _: 1) == kept
