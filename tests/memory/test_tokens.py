from __future__ import annotations

import pytest

from rxagent.memory import estimate_tokens
from rxagent.messages import (
    AssistantMessage,
    Audio,
    File,
    Image,
    Message,
    Opaque,
    Reasoning,
    Refusal,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

CALL = ToolCall(id="1", name="name", arguments='{"a": 1}')


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (SystemMessage.of(""), 0),
        (UserMessage.of("12345678"), 2),
        (UserMessage.of("123456789"), 3),
        (UserMessage.of("é" * 8), 2),
        (UserMessage.of("日本語"), 3),
        (UserMessage.of("한국 abcd"), 2 + 2),
        (AssistantMessage.of(Reasoning(text="1234"), Refusal(text="1234")), 2),
        (AssistantMessage.of(CALL, Opaque(dialect="d", data="1234")), 3 + 1),
        (ToolMessage.of("12", Image(url="u"), call=CALL), 1 + 1_000),
        (UserMessage.of(Audio(data=b""), File(data=b"")), 2_000),
    ],
)
def test_four_letters_are_a_token_and_so_is_a_wide_one(
    message: Message, tokens: int
) -> None:
    assert estimate_tokens(message) == tokens + 4
