from __future__ import annotations

import pytest

from rxagent.errors import RequestError
from rxagent.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from rxagent.requests import ChatOptions, ChatRequest


def test_options_merge_field_by_field_and_the_request_wins() -> None:
    defaults = ChatOptions(model="small", temperature=0.7, stop=("x",))
    merged = defaults.merged(ChatOptions(temperature=0.0, max_tokens=5))

    assert merged == ChatOptions(
        model="small", temperature=0.0, max_tokens=5, stop=("x",)
    )


def test_false_and_zero_are_set_and_none_is_not() -> None:
    defaults = ChatOptions(stream=True, seed=7, parallel_tool_calls=True)
    merged = defaults.merged(ChatOptions(stream=False, seed=0))

    assert merged == ChatOptions(stream=False, seed=0, parallel_tool_calls=True)


def test_extra_merges_by_name() -> None:
    merged = ChatOptions(extra={"a": 1, "b": 2}).merged(ChatOptions(extra={"b": 3}))

    assert merged.extra == {"a": 1, "b": 3}


def test_merging_nothing_is_the_same_object() -> None:
    options = ChatOptions(model="m")

    assert options.merged(ChatOptions()) is options


def test_the_entry_is_the_user_message_at_the_end() -> None:
    question = UserMessage.of("hi")
    call = ToolCall(id="1", name="f")
    asked = ChatRequest(messages=(question,))
    later = ChatRequest(
        messages=(question, AssistantMessage.of(call), ToolMessage.of("r", call=call))
    )

    assert asked.entry is question
    assert later.entry is None
    assert ChatRequest(messages=()).entry is None


def test_one_text_that_ends_the_answer_is_a_tuple_of_one() -> None:
    assert ChatOptions(stop="END").stop == ("END",)
    assert ChatOptions(stop=["a", "b"]).stop == ("a", "b")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model", 1),
        ("temperature", "hot"),
        ("temperature", True),
        ("max_tokens", 1.5),
        ("stop", 7),
        ("stop", (1,)),
        ("parallel_tool_calls", "no"),
        ("response_schema", "x"),
        ("extra", [1]),
    ],
)
def test_an_option_of_the_wrong_type_is_refused_by_its_name(
    name: str, value: object
) -> None:
    with pytest.raises(RequestError, match=f"{name} must be"):
        ChatOptions(**{name: value})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
