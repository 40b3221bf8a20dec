from __future__ import annotations

import copy
import json
from base64 import b64encode
from collections.abc import Mapping
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import RequestError
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
    UserPart,
)
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.wire import OllamaDialect

Json: TypeAlias = dict[str, object]

HI = UserMessage.of("hi")
CALL = ToolCall(id="a", name="f", arguments='{"x": 1}')
PICTURE = Image(data=b"\x89PNG")
WEATHER = ToolSpec(
    name="weather",
    description="Tell the weather.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}},
)


def body(
    *messages: Message,
    tools: tuple[ToolSpec, ...] = (),
    options: ChatOptions | None = None,
    stream: bool = True,
) -> Json:
    request = ChatRequest(
        messages=messages or (HI,), tools=tools, options=options or ChatOptions()
    )
    encoded = OllamaDialect().encode(request, model="m", stream=stream)
    found: Json = json.loads(encoded)
    return found


def sent(*messages: Message) -> list[Json]:
    found = body(*messages)["messages"]
    assert isinstance(found, list)
    return found


def problem(*messages: Message, options: ChatOptions | None = None) -> str:
    with pytest.raises(RequestError) as at:
        body(*messages, options=options, tools=(WEATHER,))
    return str(at.value)


@pytest.mark.parametrize("stream", [True, False])
def test_a_plain_request_is_model_stream_and_messages(stream: bool) -> None:
    """Ollama streams unless it is told not to."""
    assert body(stream=stream) == {
        "model": "m",
        "stream": stream,
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_options_are_sent_where_they_are_set() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    options = ChatOptions(
        model="big",
        temperature=0.0,
        top_p=0.5,
        max_tokens=7,
        stop=("a", "b"),
        seed=1,
        tool_choice="auto",
        parallel_tool_calls=True,
        response_schema=schema,
        reasoning_effort="low",
        extra={"keep_alive": "10m", "logprobs": True},
    )

    assert body(options=options, tools=(WEATHER,)) == {
        "model": "big",
        "stream": True,
        "format": schema,
        "think": "low",
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "Tell the weather.",
                    "parameters": WEATHER.parameters,
                },
            }
        ],
        "options": {
            "temperature": 0.0,
            "top_p": 0.5,
            "num_predict": 7,
            "stop": ["a", "b"],
            "seed": 1,
        },
        "keep_alive": "10m",
        "logprobs": True,
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_options_of_the_model_come_from_both_places() -> None:
    extra: Mapping[str, object] = {"options": {"num_ctx": 8192, "seed": 2}}

    found = body(options=ChatOptions(temperature=0.5, seed=1, extra=extra))

    assert found["options"] == {"temperature": 0.5, "seed": 2, "num_ctx": 8192}


@pytest.mark.parametrize(
    ("effort", "think"),
    [
        ("none", False),
        ("minimal", "low"),
        ("low", "low"),
        ("medium", "medium"),
        ("high", "high"),
        ("xhigh", "max"),
        ("max", "max"),
    ],
)
def test_effort_is_thinking(effort: str, think: object) -> None:
    found = body(options=ChatOptions(reasoning_effort=effort))

    assert found["think"] == think


def test_thinking_may_also_be_said_in_its_own_words() -> None:
    assert body(options=ChatOptions(extra={"think": True}))["think"] is True


def test_a_tool_without_a_description_has_none() -> None:
    tool = ToolSpec(name="f", description="", parameters={"type": "object"})

    assert body(tools=(tool,))["tools"] == [
        {"type": "function", "function": {"name": "f", "parameters": tool.parameters}}
    ]


def test_a_model_that_shall_call_nothing_is_told_of_no_tools() -> None:
    """There is no tool_choice; a model cannot call what it does not know."""
    assert "tools" not in body(
        options=ChatOptions(tool_choice="none"), tools=(WEATHER,)
    )


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (ChatOptions(tool_choice="required"), "tool_choice is 'required'"),
        (ChatOptions(tool_choice="weather"), "leaves the choice to the model"),
        (ChatOptions(parallel_tool_calls=False), "one call at a time"),
        (ChatOptions(reasoning_effort="lots"), "'lots', and Ollama knows none, mini"),
        (ChatOptions(extra={"messages": []}), "must not hold 'messages'"),
        (ChatOptions(extra={"options": 5}), "must be a mapping, got 5"),
        (ChatOptions(extra={"x": object()}), "the options are not JSON"),
        (ChatOptions(temperature=float("nan")), "the options are not JSON"),
    ],
)
def test_what_the_format_cannot_say_is_refused(
    options: ChatOptions, complaint: str
) -> None:
    assert complaint in problem(options=options)


def test_instructions_come_first_and_are_one() -> None:
    """Invariant: at most one system message, at index 0."""
    found = sent(SystemMessage.of("a"), HI, SystemMessage.of(""), SystemMessage.of("b"))

    assert found == [
        {"role": "system", "content": "a\n\nb"},
        {"role": "user", "content": "hi"},
    ]


def test_pictures_stand_beside_the_text() -> None:
    message = UserMessage.of("What ", PICTURE, "is this?", PICTURE)

    encoded = b64encode(b"\x89PNG").decode()
    assert sent(message) == [
        {"role": "user", "content": "What is this?", "images": [encoded, encoded]}
    ]


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        (Image(url="https://host/a.png"), "not as the address 'https://host/a.png'"),
        (Audio(data=b"RIFF"), "the message holds audio"),
        (File(data=b"%PDF", name="a.pdf"), "the message holds file"),
    ],
)
def test_a_part_that_ollama_does_not_take_is_refused(
    part: UserPart, complaint: str
) -> None:
    assert complaint in problem(UserMessage.of(part))
    answered = (AssistantMessage.of(CALL), ToolMessage.of(part, call=CALL))
    assert complaint in problem(*answered)


def test_calls_are_objects_and_results_name_their_tool() -> None:
    other = ToolCall(id="b", name="g", arguments="")
    found = sent(
        HI,
        AssistantMessage.of("Let me look.", CALL, other),
        ToolMessage.of("second", PICTURE, call=other),
        ToolMessage.of("first", call=CALL),
    )

    assert found[1:] == [
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {
                    "id": "a",
                    "function": {"index": 0, "name": "f", "arguments": {"x": 1}},
                },
                {"id": "b", "function": {"index": 1, "name": "g", "arguments": {}}},
            ],
        },
        {"role": "tool", "content": "first", "tool_name": "f", "tool_call_id": "a"},
        {
            "role": "tool",
            "content": "second",
            "images": [b64encode(b"\x89PNG").decode()],
            "tool_name": "g",
            "tool_call_id": "b",
        },
    ]


def test_broken_arguments_travel_inside_an_object() -> None:
    """Invariant: the arguments of every call are an object."""
    call = ToolCall(id="a", name="f", arguments='{"x": ')

    [assistant, _] = sent(AssistantMessage.of(call), ToolMessage.of("no", call=call))

    assert assistant["tool_calls"] == [
        {
            "id": "a",
            "function": {
                "index": 0,
                "name": "f",
                "arguments": {"INVALID_JSON": '{"x": '},
            },
        }
    ]


def test_thoughts_go_back_and_what_others_understand_does_not() -> None:
    message = AssistantMessage.of(
        Reasoning(text="hm"),
        Reasoning(text="not mine", signature="s", dialect="anthropic"),
        "Well.",
        Opaque(dialect="ollama", data="{}"),
    )

    assert sent(HI, message, HI)[1] == {
        "role": "assistant",
        "content": "Well.",
        "thinking": "hm",
    }


def test_a_refusal_is_text() -> None:
    assert sent(AssistantMessage.of(Refusal(text="no")))[0]["content"] == "no"


@pytest.mark.parametrize(
    "message",
    [
        AssistantMessage(content=()),
        AssistantMessage.of(""),
        AssistantMessage.of(Reasoning(text="hm")),
        AssistantMessage.of(Opaque(dialect="x", data="{}")),
    ],
)
def test_an_answer_of_nothing_is_not_sent(message: AssistantMessage) -> None:
    """Invariant: no assistant message without content and calls."""
    assert sent(HI, message, HI) == [{"role": "user", "content": "hi"}] * 2


def test_a_history_with_open_ends_is_refused() -> None:
    assert "has no result" in problem(AssistantMessage.of(CALL))
    assert "not in the messages" in problem(ToolMessage.of("x", call=CALL))


def test_without_a_message_there_is_nothing_to_send() -> None:
    """To Ollama it would mean to load the model."""
    with pytest.raises(RequestError, match="no message to send"):
        OllamaDialect().encode(ChatRequest(messages=()), model="m", stream=True)


def test_a_message_is_encoded_once() -> None:
    """Law 9."""
    messages = (HI, AssistantMessage.of("ho"), UserMessage.of("and?"))
    first = sent(*messages)

    again = sent(*messages, UserMessage.of("so"))

    assert again[:3] == first
    assert sent(*copy.deepcopy(messages)) == first
    assert isinstance(HI.memo.get("ollama ollama"), bytes)


@given(text=st.text(), arguments=st.dictionaries(st.text(), st.text()))
def test_every_text_can_be_sent(text: str, arguments: dict[str, str]) -> None:
    """Invariant: every string that is sent encodes as UTF-8, as it was."""
    call = ToolCall(id="a", name="f", arguments=json.dumps(arguments))

    user, assistant, result = sent(
        UserMessage.of(text), AssistantMessage.of(call), ToolMessage.of(text, call=call)
    )

    assert user["content"] == result["content"] == text
    function = {"index": 0, "name": "f", "arguments": arguments}
    assert assistant["tool_calls"] == [{"id": "a", "function": function}]
