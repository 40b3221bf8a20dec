from __future__ import annotations

import json

import pytest

from rxagent.messages import (
    AssistantMessage,
    Reasoning,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.requests import ChatRequest
from tests.wire.dialects import DIALECTS

CALL = ToolCall(id="a", name="f")
HI = UserMessage.of("hi")
WITHOUT_A_PLACE = ("OllamaDialect", "OpenAIChatDialect", "OpenAIResponsesDialect")


def encoded(name: str, said: AssistantMessage, *rest: ToolMessage) -> str:
    request = ChatRequest(messages=(HI, said, *rest))
    return DIALECTS[name].dialect.encode(request, model="m", stream=True).decode()


def result(text: str, *, is_error: bool, name: str) -> str:
    told = ToolMessage.of(text, call=CALL, is_error=is_error)
    return encoded(name, AssistantMessage.of(CALL), told)


@pytest.mark.parametrize("name", DIALECTS)
def test_every_model_is_told_that_a_tool_failed(name: str) -> None:
    failed = result("42", is_error=True, name=name)
    assert "error" in failed.lower()
    assert failed != result("42", is_error=False, name=name)


@pytest.mark.parametrize("name", WITHOUT_A_PLACE)
def test_the_text_says_so_once_where_the_format_cannot(name: str) -> None:
    assert json.dumps("Error: 42") in result("42", is_error=True, name=name)
    for text in ("error 42", "Error: no disk"):
        assert json.dumps(text) in result(text, is_error=True, name=name)
    assert json.dumps("42") in result("42", is_error=False, name=name)


@pytest.mark.parametrize("name", DIALECTS)
def test_what_another_provider_signed_is_sent_to_none(name: str) -> None:
    thought = Reasoning(text="THEIRS", signature="S", dialect="another")
    assert "THEIRS" not in encoded(name, AssistantMessage.of(thought, "a"))
