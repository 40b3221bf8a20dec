from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import pytest

from rxagent.messages import (
    AssistantMessage,
    Audio,
    File,
    Image,
    Reasoning,
    Refusal,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)

CALL = ToolCall(id="1", name="weather", arguments='{"city": "Oslo"}')


def test_the_text_of_an_answer_holds_no_reasoning_and_no_refusal() -> None:
    """S001-94."""
    message = AssistantMessage.of(
        Reasoning(text="hm"), "It is ", Refusal(text="no"), "sunny", CALL
    )

    assert message.text == "It is sunny"
    assert message.reasoning == "hm"
    assert message.refusal == "no"
    assert message.tool_calls == (CALL,)


def test_messages_are_equal_by_value_and_not_by_id() -> None:
    one, other = UserMessage.of("hi"), UserMessage.of("hi")

    assert one == other
    assert one.id != other.id
    assert hash(one) == hash(other)


def test_messages_never_change() -> None:
    message = UserMessage.of("hi")

    with pytest.raises(FrozenInstanceError):
        message.content = ()  # type: ignore[misc]


def test_a_user_message_keeps_the_order_of_its_parts() -> None:
    picture = Image(url="https://example.org/cat.png")
    message = UserMessage.of("what is ", picture, "this?")

    assert message.content == (Text(text="what is "), picture, Text(text="this?"))
    assert message.text == "what is this?"


def test_a_tool_message_answers_its_call() -> None:
    message = ToolMessage.of("22 °C", call=CALL)

    assert (message.tool_call_id, message.name, message.text) == (
        "1",
        "weather",
        "22 °C",
    )


@pytest.mark.parametrize("kind", [Image, Audio, File])
def test_media_needs_exactly_one_of_data_and_url(
    kind: type[Image] | type[Audio] | type[File],
) -> None:
    with pytest.raises(ValueError, match="either data or url"):
        kind()
    with pytest.raises(ValueError, match="either data or url"):
        kind(data=b"x", url="https://example.org")


def test_bytes_of_media_stay_out_of_its_repr() -> None:
    assert "secret" not in repr(Image(data=b"secret"))


def test_what_encoders_remember_is_not_part_of_the_value() -> None:
    message = SystemMessage.of("be brief")
    plain = repr(message)
    message.memo["a"] = b"stale"

    assert message.memo == {"a": b"stale"}
    assert repr(message) == plain
    assert replace(message, content=(Text(text="be long"),)).memo == {}
    for same in (copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert same == message
        assert same.id == message.id
        assert same.memo == {}
