from __future__ import annotations

import copy
import json
import re
from base64 import b64encode
from typing import TypeAlias

import pytest

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
from rxagent.wire import OpenAIChatDialect
from rxagent.wire.openai_chat import ReasoningMember, SendReasoning

Json: TypeAlias = dict[str, object]

HI = UserMessage.of("hi")
CALL = ToolCall(id="a", name="f", arguments='{"x": 1}')
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
    dialect: OpenAIChatDialect | None = None,
) -> Json:
    request = ChatRequest(
        messages=messages or (HI,), tools=tools, options=options or ChatOptions()
    )
    encoded = (dialect or OpenAIChatDialect()).encode(request, model="m", stream=stream)
    found: Json = json.loads(encoded)
    return found


def sent(*messages: Message, dialect: OpenAIChatDialect | None = None) -> list[Json]:
    found = body(*messages, dialect=dialect)["messages"]
    assert isinstance(found, list)
    return found


def test_a_plain_request_is_model_stream_and_messages() -> None:
    assert body() == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "hi"}],
    }
    assert body(stream=False) == {
        "model": "m",
        "stream": False,
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_options_are_sent_where_they_are_set() -> None:
    options = ChatOptions(
        model="big",
        temperature=0.0,
        top_p=0.5,
        max_tokens=7,
        stop=("a", "b"),
        seed=1,
        tool_choice="required",
        parallel_tool_calls=False,
        response_schema={"title": "A film!", "type": "object"},
        reasoning_effort="low",
        extra={"logprobs": True, "seed": 2},
    )

    assert body(options=options, tools=(WEATHER,)) == {
        "model": "big",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.0,
        "top_p": 0.5,
        "max_tokens": 7,
        "stop": ["a", "b"],
        "seed": 2,
        "reasoning_effort": "low",
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "A_film_",
                "schema": {"title": "A film!", "type": "object"},
            },
        },
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
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "logprobs": True,
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_a_schema_without_a_title_is_named_answer() -> None:
    options = ChatOptions(response_schema={"type": "object"})

    assert body(options=options)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": {"type": "object"}},
    }


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("weather", {"type": "function", "function": {"name": "weather"}}),
    ],
)
def test_a_tool_is_chosen_by_word_or_by_name(choice: str, wire: object) -> None:
    options = ChatOptions(tool_choice=choice)

    assert body(options=options, tools=(WEATHER,))["tool_choice"] == wire


@pytest.mark.parametrize("choice", ["auto", "none", None])
def test_without_tools_their_options_are_met_and_not_sent(choice: str | None) -> None:
    """Servers refuse them where there are no tools."""
    options = ChatOptions(tool_choice=choice, parallel_tool_calls=True)

    assert body(options=options).keys() == body().keys()


def test_several_instructions_are_one_message_and_the_first() -> None:
    messages = sent(
        HI,
        SystemMessage.of("Be brief."),
        SystemMessage.of(""),
        SystemMessage.of("北京"),
    )

    assert messages == [
        {"role": "system", "content": "Be brief.\n\n北京"},
        {"role": "user", "content": "hi"},
    ]
    assert sent(HI, SystemMessage.of("s"))[0] == {"role": "system", "content": "s"}


def test_parts_are_sent_as_parts_and_text_alone_as_a_string() -> None:
    data = b"\x89PNG"
    encoded = b64encode(data).decode()
    parts: tuple[str | UserPart, ...] = (
        "look",
        Image(data=data),
        Image(url="http://x/i.png"),
        Audio(data=data, media_type="audio/mpeg"),
        Audio(data=data),
        File(data=data, name="a.pdf"),
    )

    assert sent(UserMessage.of(*parts))[0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
        {"type": "image_url", "image_url": {"url": "http://x/i.png"}},
        {"type": "input_audio", "input_audio": {"data": encoded, "format": "mp3"}},
        {"type": "input_audio", "input_audio": {"data": encoded, "format": "wav"}},
        {
            "type": "file",
            "file": {
                "filename": "a.pdf",
                "file_data": f"data:application/pdf;base64,{encoded}",
            },
        },
    ]
    assert sent(UserMessage.of("a", "b"))[0]["content"] == "ab"


def test_results_follow_their_call_in_its_order() -> None:
    """paired-tools: ids may repeat from round to round."""
    other = ToolCall(id="b", name="g")
    messages = sent(
        HI,
        AssistantMessage.of("Let me see.", CALL, other),
        ToolMessage.of("B", call=other),
        UserMessage.of("hurry"),
        ToolMessage.of("A", call=CALL, is_error=True),
        AssistantMessage.of(CALL),
        ToolMessage.of(call=CALL),
    )

    def call(id_: str, name: str, arguments: str) -> Json:
        function = {"name": name, "arguments": arguments}
        return {"id": id_, "type": "function", "function": function}

    assert messages[1:] == [
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [call("a", "f", '{"x": 1}'), call("b", "g", "{}")],
        },
        {"role": "tool", "tool_call_id": "a", "content": "Error: A"},
        {"role": "tool", "tool_call_id": "b", "content": "B"},
        {"role": "user", "content": "hurry"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call("a", "f", '{"x": 1}')],
        },
        {"role": "tool", "tool_call_id": "a", "content": ""},
    ]


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"x": 1}', {"x": 1}),
        ("", {}),
        ("{text: hello", {"INVALID_JSON": "{text: hello"}),
        ("[1]", {"INVALID_JSON": "[1]"}),
        ('{"x": "\\ud83d"}', {"x": "\ufffd"}),
    ],
)
def test_arguments_are_always_an_object(written: str, arguments: Json) -> None:
    """valid-json-args."""
    call = ToolCall(id="a", name="f", arguments=written)
    messages = sent(HI, AssistantMessage.of(call), ToolMessage.of("r", call=call))

    [asked] = json.loads(json.dumps(messages[1]["tool_calls"]))
    assert json.loads(asked["function"]["arguments"]) == arguments


@pytest.mark.parametrize(
    ("name", "wire"),
    [("f", "f"), ("functions.get it", "functions_get_it"), ("", "unnamed")],
)
def test_a_name_that_the_model_dreamed_up_does_not_poison_the_history(
    name: str, wire: str
) -> None:
    call = ToolCall(id="a", name=name)
    messages = sent(HI, AssistantMessage.of(call), ToolMessage.of("r", call=call))

    [asked] = json.loads(json.dumps(messages[1]["tool_calls"]))
    assert asked["function"]["name"] == wire


def test_an_assistant_message_with_nothing_to_send_is_left_out() -> None:
    """no-empty-assistant."""
    nothing = AssistantMessage.of(Reasoning(text="hm"), Opaque(dialect="x", data="{}"))

    assert [message["role"] for message in sent(HI, nothing, HI)] == ["user", "user"]


def test_a_refusal_goes_back_as_what_was_said() -> None:
    refusal = AssistantMessage.of(Refusal(text="No."))

    assert sent(HI, refusal, HI)[1] == {"role": "assistant", "content": "No."}


@pytest.mark.parametrize(
    ("send", "with_call", "without"),
    [("never", None, None), ("tool_calls", "use f", None), ("always", "use f", "hm")],
)
def test_reasoning_goes_back_where_the_provider_wants_it(
    send: SendReasoning, with_call: str | None, without: str | None
) -> None:
    """loop-reasoning-goes-back."""
    messages = sent(
        HI,
        AssistantMessage.of(Reasoning(text="use f"), CALL),
        ToolMessage.of("r", call=CALL),
        AssistantMessage.of(Reasoning(text="hm"), "Yes."),
        HI,
        dialect=OpenAIChatDialect(send_reasoning=send),
    )

    assert messages[1].get("reasoning_content") == with_call
    assert messages[3].get("reasoning_content") == without


@pytest.mark.parametrize("member", ["reasoning_content", "reasoning"])
def test_reasoning_goes_back_in_the_member_that_the_server_reads(
    member: ReasoningMember,
) -> None:
    dialect = OpenAIChatDialect(send_reasoning="always", reasoning_member=member)
    thought = AssistantMessage.of(Reasoning(text="hm"), "Yes.")

    assert sent(HI, thought, HI, dialect=dialect)[1] == {
        "role": "assistant",
        "content": "Yes.",
        member: "hm",
    }


def test_reasoning_goes_back_as_parts_with_the_signature_of_ones_own() -> None:
    """M-57."""
    dialect = OpenAIChatDialect(
        name="mistral", send_reasoning="always", reasoning_member="thinking"
    )
    thought = AssistantMessage.of(
        Reasoning(text="a", signature="s", dialect="mistral"),
        Reasoning(text="b"),
        Reasoning(text="c", signature="t", dialect="other"),
        "Yes.",
        Opaque(dialect="mistral", data='{"type":"reference"}'),
    )

    def thinking(text: str, **more: str) -> Json:
        parts = [{"type": "text", "text": text}]
        return {"type": "thinking", "thinking": parts, **more}

    assert sent(HI, thought, HI, dialect=dialect)[1]["content"] == [
        thinking("a", signature="s"),
        thinking("b"),
        {"type": "text", "text": "Yes."},
        {"type": "reference"},
    ]
    plain = AssistantMessage.of("Yes.")
    assert sent(HI, plain, HI, dialect=dialect)[1]["content"] == "Yes."


def test_an_id_that_is_too_long_for_a_server_is_always_the_same_short_one() -> None:
    long, short = (
        ToolCall(id="call_1234567", name="f"),
        ToolCall(id="abcDEF123", name="f"),
    )
    messages = sent(
        HI,
        AssistantMessage.of(long, short, CALL),
        ToolMessage.of("l", call=long),
        ToolMessage.of("s", call=short),
        ToolMessage.of("r", call=CALL),
        dialect=OpenAIChatDialect(short_call_ids=True),
    )

    calls = json.loads(json.dumps(messages[1]["tool_calls"]))
    ids = [call["id"] for call in calls]
    assert [message["tool_call_id"] for message in messages[2:]] == ids
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", each) for each in ids)
    assert ids[1] == "abcDEF123"
    assert len(set(ids)) == 3


def test_a_server_may_have_names_of_its_own_for_what_an_option_says() -> None:
    options = ChatOptions(seed=1, max_tokens=7, extra={"seed": 2})
    names = {"seed": "random_seed", "max_tokens": "max_completion_tokens"}
    found = body(options=options, dialect=OpenAIChatDialect(names=names))

    assert (found["random_seed"], found["max_completion_tokens"]) == (1, 7)
    assert "max_tokens" not in found
    assert found["seed"] == 2, "what is extra is sent as it is"


def test_a_server_that_is_not_asked_to_count_is_sent_no_stream_options() -> None:
    assert "stream_options" not in body(dialect=OpenAIChatDialect(asks_for_usage=False))


def test_an_option_that_a_server_does_not_take_is_an_error_and_not_dropped() -> None:
    strict = OpenAIChatDialect(name="strict", refused={"seed", "tool_choice"})

    with pytest.raises(RequestError, match="strict does not take 'seed'"):
        body(options=ChatOptions(seed=1), dialect=strict)
    with pytest.raises(RequestError, match="strict does not take 'tool_choice'"):
        body(
            options=ChatOptions(tool_choice="required"),
            tools=(WEATHER,),
            dialect=strict,
        )


def test_what_a_server_does_anyhow_need_not_be_refused() -> None:
    strict = OpenAIChatDialect(refused={"tool_choice"})
    options = ChatOptions(tool_choice="auto")
    found = body(options=options, tools=(WEATHER,), dialect=strict)

    assert "tool_choice" not in found


def test_an_opaque_part_goes_back_to_its_own_dialect_alone() -> None:
    message = AssistantMessage.of("a", Opaque(dialect="mistral", data='{"type":"x"}'))

    own = sent(HI, message, HI, dialect=OpenAIChatDialect(name="mistral"))
    other = sent(HI, message, HI)

    assert own[1]["content"] == [{"type": "text", "text": "a"}, {"type": "x"}]
    assert other[1]["content"] == "a"


def test_every_string_fits_utf_8() -> None:
    """utf8-encodable."""
    half = "a\ud83d"
    options = ChatOptions(extra={"user": half})
    call = ToolCall(id=half, name="f", arguments=half)
    request = ChatRequest(
        messages=(
            SystemMessage.of(half),
            UserMessage.of(half),
            AssistantMessage.of(half, call),
            ToolMessage.of(half, call=call),
        ),
        options=options,
    )

    encoded = OpenAIChatDialect().encode(request, model="m", stream=True).decode()

    assert encoded.count("a\ufffd") == 8


audio = Audio(data=b"x", media_type="audio/ogg")
REFUSED: dict[str, tuple[ChatRequest, str]] = {
    "no messages": (ChatRequest(messages=()), "no message"),
    "nothing to send": (
        ChatRequest(messages=(AssistantMessage(content=()),)),
        "no message",
    ),
    "a call without a result": (
        ChatRequest(messages=(HI, AssistantMessage.of(CALL), HI)),
        "the call 'a' of tool 'f' has no result",
    ),
    "a result without a call": (
        ChatRequest(messages=(HI, ToolMessage.of("r", call=CALL))),
        "the result of tool 'f' answers the call 'a', which is not",
    ),
    "a picture as a result": (
        ChatRequest(
            messages=(
                HI,
                AssistantMessage.of(CALL),
                ToolMessage.of(Image(data=b"x"), call=CALL),
            )
        ),
        "the result of tool 'f' holds image",
    ),
    "audio of another kind": (
        ChatRequest(messages=(UserMessage.of(audio),)),
        "WAV or MP3, not as audio/ogg",
    ),
    "the address of audio": (
        ChatRequest(messages=(UserMessage.of(Audio(url="http://x/a")),)),
        "not as the address 'http://x/a'",
    ),
    "the address of a file": (
        ChatRequest(messages=(UserMessage.of(File(url="http://x/a")),)),
        "not as the address 'http://x/a'",
    ),
    "a tool of a bad name": (
        ChatRequest(
            messages=(HI,),
            tools=(ToolSpec(name="a.b", description="", parameters={}),),
        ),
        "the tool name 'a.b' cannot be sent",
    ),
    "an unknown tool is chosen": (
        ChatRequest(
            messages=(HI,), tools=(WEATHER,), options=ChatOptions(tool_choice="f")
        ),
        "tool_choice is 'f', but the tools are weather",
    ),
    "a choice of no tools": (
        ChatRequest(messages=(HI,), options=ChatOptions(tool_choice="required")),
        "tool_choice is 'required', but there are no tools",
    ),
    "options that are no JSON": (
        ChatRequest(messages=(HI,), options=ChatOptions(extra={"x": object()})),
        "the options are not JSON",
    ),
    "a temperature that is no number": (
        ChatRequest(messages=(HI,), options=ChatOptions(temperature=float("nan"))),
        "the options are not JSON",
    ),
    "messages in extra": (
        ChatRequest(messages=(HI,), options=ChatOptions(extra={"messages": []})),
        "extra must not hold 'messages'",
    ),
    "an opaque part that is broken": (
        ChatRequest(
            messages=(HI, AssistantMessage.of(Opaque(dialect="openai", data="{")))
        ),
        "a part of dialect 'openai' is not JSON",
    ),
}


@pytest.mark.parametrize(("request_", "words"), REFUSED.values(), ids=REFUSED)
def test_what_the_format_cannot_express_is_an_error(
    request_: ChatRequest, words: str
) -> None:
    with pytest.raises(RequestError, match=words):
        OpenAIChatDialect().encode(request_, model="m", stream=True)


def test_a_message_is_encoded_once_for_a_dialect() -> None:
    """Law 9: the rounds of a tool loop join bytes that are there."""
    first, second = UserMessage.of("first"), UserMessage.of("second")
    sent(first)
    (key,) = (each for each in first.memo if "up to" not in each)
    first.memo[key] = b'{"role":"user","content":"remembered"}'

    assert sent(second, first)[1]["content"] == "remembered"
    assert (
        sent(first, dialect=OpenAIChatDialect(send_reasoning="always"))[0]["content"]
        == "first"
    )


TURN: tuple[Message, ...] = (
    HI,
    AssistantMessage.of(CALL),
    ToolMessage.of("r", call=CALL),
)


def copies(*messages: Message) -> tuple[Message, ...]:
    """The same messages, of which nobody remembers anything."""
    return tuple(map(copy.deepcopy, messages))


def test_what_was_sent_is_not_looked_at_again() -> None:
    """Law 9."""
    conversation = copies(*TURN)
    sent(*conversation)
    for message in conversation:
        for key in [each for each in message.memo if "up to" not in each]:
            message.memo[key] = b"not this"

    bodies = sent(*conversation, UserMessage.of("and?"))

    assert [each["role"] for each in bodies] == ["user", "assistant", "tool", "user"]
    assert not any("up to" in key for key in conversation[-1].memo), "two copies"


@pytest.mark.parametrize(
    "steps", [[1, 4, 7, 8], [4, 8], [1], [4, 7], [8, 4, 11, 7], [7, 7, 8, 8]], ids=str
)
def test_a_growing_conversation_is_sent_as_if_it_were_new(steps: list[int]) -> None:
    system, late = SystemMessage.of("be brief"), SystemMessage.of("be kind")
    whole: tuple[Message, ...] = (system, *TURN, *TURN, late, *TURN)
    growing = copies(*whole)
    for step in steps:
        sent(*growing[:step])

    assert sent(*growing) == sent(*copies(*whole))


def test_two_ways_on_from_one_conversation_do_not_mix() -> None:
    shared = copies(*TURN)
    sent(*shared)
    one, other = UserMessage.of("one"), UserMessage.of("other")

    for _ in range(2):
        assert sent(*shared, one)[-1]["content"] == "one"
        assert sent(*shared, other)[-1]["content"] == "other"
        assert sent(one, *shared, other)[0]["content"] == "one"


def test_a_request_that_cannot_be_said_is_not_called_bad_json() -> None:
    request = ChatRequest(
        messages=(UserMessage.of("hi"),), options=ChatOptions(tool_choice="required")
    )

    with pytest.raises(RequestError, match=r"^tool_choice is 'required', but there"):
        OpenAIChatDialect().encode(request, model="m", stream=True)
