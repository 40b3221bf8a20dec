from __future__ import annotations

import json
from base64 import b64encode
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import RequestError
from rxagent.messages import (
    AssistantMessage,
    AssistantPart,
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
from rxagent.wire import AnthropicDialect

Json: TypeAlias = dict[str, Any]

HI = UserMessage.of("hi")
CALL = ToolCall(id="a", name="f", arguments='{"x": 1}')
OTHER = ToolCall(id="b", name="g")
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
    dialect: AnthropicDialect | None = None,
) -> Json:
    request = ChatRequest(
        messages=messages or (HI,), tools=tools, options=options or ChatOptions()
    )
    encoded = (dialect or AnthropicDialect()).encode(request, model="m", stream=stream)
    found: Json = json.loads(encoded)
    return found


def sent(*messages: Message, dialect: AnthropicDialect | None = None) -> list[Json]:
    found: list[Json] = body(*messages, dialect=dialect)["messages"]
    return found


def said(*parts: str | AssistantPart) -> list[Json]:
    """The blocks of an assistant message of these parts."""
    message = AssistantMessage.of(*parts)
    results = [ToolMessage.of("ok", call=call) for call in message.tool_calls]
    found = [
        each["content"]
        for each in sent(HI, message, *results, HI)
        if each["role"] == "assistant"
    ]
    blocks: list[Json] = found[0] if found else []
    return blocks


def text(content: str) -> Json:
    return {"type": "text", "text": content}


def test_a_plain_request_is_model_limit_stream_and_messages() -> None:
    message = {"role": "user", "content": [text("hi")]}
    for stream in (True, False):
        assert body(stream=stream) == {
            "model": "m",
            "max_tokens": 16_000,
            "stream": stream,
            "messages": [message],
        }


def test_options_are_sent_where_they_are_set() -> None:
    options = ChatOptions(
        model="big",
        temperature=0.0,
        top_p=0.5,
        max_tokens=7,
        stop=("a", "b"),
        tool_choice="required",
        parallel_tool_calls=False,
        response_schema={"type": "object", "properties": {}},
        reasoning_effort="low",
        extra={"metadata": {"user_id": "u"}, "top_k": 3},
    )

    assert body(HI, options=options, tools=(WEATHER,)) == {
        "model": "big",
        "max_tokens": 7,
        "stream": True,
        "temperature": 0.0,
        "top_p": 0.5,
        "stop_sequences": ["a", "b"],
        "thinking": {"type": "adaptive"},
        "output_config": {
            "effort": "low",
            "format": {
                "type": "json_schema",
                "schema": {
                    "type": "object",
                    "properties": {},
                    "additionalProperties": False,
                },
            },
        },
        "tools": [
            {
                "name": "weather",
                "description": "Tell the weather.",
                "input_schema": WEATHER.parameters,
            }
        ],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "metadata": {"user_id": "u"},
        "top_k": 3,
        "messages": [{"role": "user", "content": [text("hi")]}],
    }


def test_the_limit_of_an_answer_is_that_of_the_dialect() -> None:
    dialect = AnthropicDialect(max_tokens=100)
    assert body(dialect=dialect)["max_tokens"] == 100
    options = ChatOptions(max_tokens=5)
    assert body(dialect=dialect, options=options)["max_tokens"] == 5


@pytest.mark.parametrize(
    ("effort", "members"),
    [
        ("none", {"thinking": {"type": "disabled"}, "max_tokens": 16_000}),
        (
            "4096",
            {
                "thinking": {"type": "enabled", "budget_tokens": 4096},
                "max_tokens": 20_096,
            },
        ),
        (
            "max",
            {
                "thinking": {"type": "adaptive"},
                "output_config": {"effort": "max"},
                "max_tokens": 16_000,
            },
        ),
    ],
)
def test_effort_is_a_word_a_budget_or_none(effort: str, members: Json) -> None:
    found = body(options=ChatOptions(reasoning_effort=effort))

    assert found == body() | members


def test_a_limit_that_was_asked_for_is_not_raised_by_a_budget() -> None:
    options = ChatOptions(reasoning_effort="1024", max_tokens=2000)
    assert body(options=options)["max_tokens"] == 2000


def test_extra_says_more_of_thinking_than_an_option_can() -> None:
    thinking = {"type": "adaptive", "display": "summarized"}
    options = ChatOptions(reasoning_effort="low", extra={"thinking": thinking})
    assert body(options=options)["thinking"] == thinking


def test_the_prompt_is_cached_where_that_is_asked_for_and_nowhere_else() -> None:
    assert "cache_control" not in json.dumps(body(HI, tools=(WEATHER,)))
    cache = {"type": "ephemeral", "ttl": "1h"}
    options = ChatOptions(extra={"cache_control": cache})
    assert body(options=options)["cache_control"] == cache


@pytest.mark.parametrize(
    "options",
    [ChatOptions(temperature=0.0), ChatOptions(top_p=1.0)],
    ids=["temperature", "top_p"],
)
def test_a_version_without_sampling_refuses_its_options(options: ChatOptions) -> None:
    new = AnthropicDialect(version="2026-10-21")

    with pytest.raises(RequestError, match="2026-10-21 of Anthropic's API has no"):
        body(options=options, dialect=new)
    assert body(dialect=new) == body()


def test_what_the_api_has_not_is_refused() -> None:
    with pytest.raises(RequestError, match="no seed"):
        body(options=ChatOptions(seed=1))


@pytest.mark.parametrize("name", ["messages", "system"])
def test_what_is_made_of_the_messages_is_not_in_extra(name: str) -> None:
    with pytest.raises(RequestError, match=f"must not hold '{name}'"):
        body(options=ChatOptions(extra={name: []}))


def test_options_that_are_no_json_are_refused() -> None:
    with pytest.raises(RequestError, match="not JSON"):
        body(options=ChatOptions(temperature=float("nan")))
    with pytest.raises(RequestError, match="not JSON"):
        body(options=ChatOptions(extra={"x": object()}))


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("weather", {"type": "tool", "name": "weather"}),
    ],
)
def test_a_tool_is_chosen_by_word_or_by_name(choice: str, wire: Json) -> None:
    options = ChatOptions(tool_choice=choice)
    assert body(options=options, tools=(WEATHER,))["tool_choice"] == wire

    one = ChatOptions(tool_choice=choice, parallel_tool_calls=False)
    apart: Json = {} if choice == "none" else {"disable_parallel_tool_use": True}
    assert body(options=one, tools=(WEATHER,))["tool_choice"] == wire | apart


def test_one_call_at_a_time_needs_no_choice() -> None:
    options = ChatOptions(parallel_tool_calls=False)
    assert body(options=options, tools=(WEATHER,))["tool_choice"] == {
        "type": "auto",
        "disable_parallel_tool_use": True,
    }
    several = ChatOptions(parallel_tool_calls=True)
    assert "tool_choice" not in body(options=several, tools=(WEATHER,))


@pytest.mark.parametrize("choice", ["auto", "none", None])
def test_without_tools_their_options_are_met_and_not_sent(choice: str | None) -> None:
    options = ChatOptions(tool_choice=choice, parallel_tool_calls=False)
    assert body(options=options) == body()


def test_a_choice_that_cannot_be_met_is_refused() -> None:
    with pytest.raises(RequestError, match="there are no tools"):
        body(options=ChatOptions(tool_choice="required"))
    with pytest.raises(RequestError, match="'other', but the tools are weather"):
        body(options=ChatOptions(tool_choice="other"), tools=(WEATHER,))


def test_tools_of_the_server_stand_behind_those_of_the_request() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    options = ChatOptions(extra={"tools": [search]}, tool_choice="web_search")

    found = body(options=options, tools=(WEATHER,))

    assert [each["name"] for each in found["tools"]] == ["weather", "web_search"]
    assert found["tools"][1] == search
    assert found["tool_choice"] == {"type": "tool", "name": "web_search"}
    assert body(options=options)["tools"] == [search]
    with pytest.raises(RequestError, match="'tools' of extra must be a list"):
        body(options=ChatOptions(extra={"tools": search}))


def test_parameters_are_those_of_an_object() -> None:
    bare = ToolSpec(name="f", description="", parameters={})
    assert body(tools=(bare,))["tools"] == [
        {"name": "f", "input_schema": {"type": "object"}}
    ]


def test_a_name_that_the_api_refuses_is_refused() -> None:
    bad = ToolSpec(name="get weather", description="", parameters={})
    with pytest.raises(RequestError, match="'get weather' cannot be sent"):
        body(tools=(bad,))


def test_instructions_are_the_system_field() -> None:
    found = body(SystemMessage.of("Be brief."), HI, SystemMessage.of("Be kind."))

    assert found["system"] == "Be brief.\n\nBe kind."
    assert [each["role"] for each in found["messages"]] == ["user"]


def test_all_results_are_one_message_with_what_the_user_says_next() -> None:
    """loop-anthropic-results-in-one-message."""
    messages = sent(
        HI,
        AssistantMessage.of(CALL, OTHER),
        ToolMessage.of("B", call=OTHER),
        ToolMessage.of("A", call=CALL, is_error=True),
        UserMessage.of("and?"),
    )

    assert messages[1] == {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
            {"type": "tool_use", "id": "b", "name": "g", "input": {}},
        ],
    }
    assert messages[2:] == [
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "a",
                    "content": "A",
                    "is_error": True,
                },
                {"type": "tool_result", "tool_use_id": "b", "content": "B"},
                text("and?"),
            ],
        }
    ]


def test_a_result_may_hold_pictures_and_documents_and_nothing() -> None:
    image, paper = Image(data=b"\0"), File(data=b"%PDF", name="a.pdf")
    _, _, results = sent(
        HI,
        AssistantMessage.of(CALL, OTHER),
        ToolMessage.of("Look: ", image, paper, call=CALL),
        ToolMessage(content=(), tool_call_id="b", name="g"),
    )

    first, second = results["content"]
    assert [each["type"] for each in first["content"]] == ["text", "image", "document"]
    assert second == {"type": "tool_result", "tool_use_id": "b"}


def test_a_late_result_finds_its_call() -> None:
    asked, answer = AssistantMessage.of(CALL), AssistantMessage.of("So.")
    late = ToolMessage.of("A", call=CALL)

    assert sent(HI, asked, answer, late) == sent(HI, asked, late, answer)


@pytest.mark.parametrize(
    "messages",
    [(HI, AssistantMessage.of(CALL)), (HI, ToolMessage.of("A", call=CALL))],
    ids=["open call", "orphan result"],
)
def test_a_call_and_its_result_belong_together(messages: tuple[Message, ...]) -> None:
    with pytest.raises(RequestError, match=r"no result|not in the messages"):
        sent(*messages)


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            Image(url="https://x.org/a.png"),
            {"type": "image", "source": {"type": "url", "url": "https://x.org/a.png"}},
        ),
        (
            Image(data=b"\0", media_type="image/webp"),
            {
                "type": "image",
                "source": {
                    "type": "base64",
                    "media_type": "image/webp",
                    "data": b64encode(b"\0").decode(),
                },
            },
        ),
        (
            File(data=b"%PDF", name="a.pdf"),
            {
                "type": "document",
                "source": {
                    "type": "base64",
                    "media_type": "application/pdf",
                    "data": b64encode(b"%PDF").decode(),
                },
                "title": "a.pdf",
            },
        ),
        (
            File(url="https://x.org/a.pdf", name="a.pdf"),
            {
                "type": "document",
                "source": {"type": "url", "url": "https://x.org/a.pdf"},
                "title": "a.pdf",
            },
        ),
        (
            File(data="Grüezi".encode(), media_type="text/markdown", name="a.md"),
            {
                "type": "document",
                "source": {
                    "type": "text",
                    "media_type": "text/plain",
                    "data": "Grüezi",
                },
                "title": "a.md",
            },
        ),
    ],
    ids=["image url", "image", "pdf", "pdf url", "text"],
)
def test_a_part_is_a_block(part: UserPart, block: Json) -> None:
    [message] = sent(UserMessage.of(part, "What is it?"))
    assert message["content"] == [block, text("What is it?")]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Audio(data=b"\0"), "a message holds audio"),
        (Image(data=b"\0", media_type="image/tiff"), "not as image/tiff"),
        (File(data=b"\0", media_type="application/zip"), "the bytes of application/zi"),
        (File(url="https://x.org", media_type="text/plain"), "the address of text/pla"),
        (File(data=b"\xff", media_type="text/plain"), "is not UTF-8"),
    ],
    ids=["audio", "image", "file", "file url", "text"],
)
def test_a_part_that_the_format_cannot_express_is_refused(
    part: UserPart, words: str
) -> None:
    with pytest.raises(RequestError, match=words):
        sent(UserMessage.of(part))
    with pytest.raises(RequestError):
        sent(HI, AssistantMessage.of(CALL), ToolMessage.of(part, call=CALL))


def test_a_signed_thought_goes_back_as_it_came_and_in_its_place() -> None:
    """M-57."""
    thought = Reasoning(text="hm ", signature="s==", dialect="anthropic")
    hidden = Reasoning(text="", signature="t==", dialect="anthropic")
    opaque = Opaque(dialect="anthropic", data='{"type":"redacted_thinking","data":"x"}')

    assert said(thought, hidden, opaque, "So.", CALL) == [
        {"type": "thinking", "thinking": "hm ", "signature": "s=="},
        {"type": "thinking", "thinking": "", "signature": "t=="},
        {"type": "redacted_thinking", "data": "x"},
        text("So."),
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
    ]


@pytest.mark.parametrize(
    "part",
    [
        Reasoning(text="hm"),
        Reasoning(text="hm", signature="s", dialect="other"),
        Opaque(dialect="other", data="{"),
    ],
    ids=["unsigned", "foreign", "opaque"],
)
def test_what_is_of_another_provider_stays_here(part: Reasoning | Opaque) -> None:
    assert said(part, "So.") == [text("So.")]
    assert said(part) == []


def test_an_opaque_part_that_is_no_json_is_refused() -> None:
    with pytest.raises(RequestError, match="a part of dialect 'anthropic' is not JSON"):
        said(Opaque(dialect="anthropic", data="{"))


def test_a_refusal_goes_back_as_text() -> None:
    assert said(Refusal(text="no")) == [text("no")]


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_blank_text_is_not_sent_as_the_api_refuses_it(blank: str) -> None:
    assert said(blank, CALL, blank, "a") == [said(CALL, "a")[0], text("a")]


def said_with_result(call: ToolCall) -> tuple[Json, Json]:
    _, asked, answered = sent(
        HI, AssistantMessage.of(call), ToolMessage.of("", call=call)
    )
    return asked["content"][0], answered["content"][0]


@pytest.mark.parametrize("id_", ["functions.f:0", "", "é", "call a"])
def test_a_foreign_id_is_one_that_the_api_takes(id_: str) -> None:
    asked, answered = said_with_result(ToolCall(id=id_, name="f"))

    assert asked["id"] == answered["tool_use_id"]
    assert asked["id"].replace("_", "").replace("-", "").isalnum()
    assert asked["id"].isascii()


def test_foreign_ids_that_look_alike_stay_apart() -> None:
    calls = [ToolCall(id=id_, name="f") for id_ in ("a.b", "a:b", "a_b")]
    ids = {said_with_result(call)[0]["id"] for call in calls}
    assert len(ids) == 3


@given(st.text())
def test_any_arguments_are_an_object(arguments: str) -> None:
    asked, _ = said_with_result(ToolCall(id="a", name="f", arguments=arguments))
    assert isinstance(asked["input"], dict)


def test_a_dreamed_up_name_is_one_that_the_api_takes() -> None:
    asked, _ = said_with_result(ToolCall(id="a", name="get weather!"))
    assert asked["name"] == "get_weather_"


def test_nothing_to_say_is_refused() -> None:
    for messages in ((SystemMessage.of("a"),), (UserMessage(content=()),)):
        with pytest.raises(RequestError, match="no message to send"):
            body(*messages)


def test_the_answer_comes_back_last_to_be_continued() -> None:
    """ant-pause-turn."""
    assert [each["role"] for each in sent(HI, AssistantMessage.of("Searching"))] == [
        "user",
        "assistant",
    ]


ROUNDS = st.lists(
    st.sampled_from(["user", "answer", "round", "system", "empty", "thought"]),
    max_size=12,
)


def conversation(kinds: list[str]) -> list[Message]:
    messages: list[Message] = []
    for number, kind in enumerate(kinds):
        call = ToolCall(id=f"c{number}", name="f")
        said_there: dict[str, list[Message]] = {
            "user": [UserMessage.of(f"u{number}")],
            "answer": [AssistantMessage.of(f"a{number}")],
            "round": [AssistantMessage.of(call), ToolMessage.of("ok", call=call)],
            "system": [SystemMessage.of(f"s{number}")],
            "empty": [UserMessage.of("")],
            "thought": [AssistantMessage.of(Reasoning(text="hm"))],
        }
        messages += said_there[kind]
    return messages


@given(ROUNDS)
def test_a_growing_conversation_is_sent_as_if_it_were_new(kinds: list[str]) -> None:
    """Law 9: what was sent before is not encoded again, and one cannot tell."""
    growing: list[Message] = [HI]
    for end in range(len(kinds) + 1):
        fresh = [UserMessage.of("hi"), *conversation(kinds[:end])]
        growing += conversation(kinds[:end])[len(growing) - 1 :]
        assert body(*growing) == body(*fresh)


def test_a_message_is_encoded_once_for_a_dialect() -> None:
    """Law 9: the rounds of a tool loop join bytes that are there."""
    asked = UserMessage.of("asked")
    sent(asked)
    (key,) = (each for each in asked.memo if "up to" not in each)
    asked.memo[key] = b'{"type":"text","text":"remembered"}'

    assert sent(asked)[0]["content"] == [text("remembered")]
    assert sent(asked, dialect=AnthropicDialect(name="b"))[0]["content"] == [
        text("asked")
    ]


def test_what_was_sent_before_the_last_answer_is_not_looked_at_again() -> None:
    """Law 9."""
    asked = AssistantMessage.of(CALL)
    round_ = (HI.of("go"), asked, ToolMessage.of("A", call=CALL))
    again = (AssistantMessage.of(OTHER), ToolMessage.of("B", call=OTHER))
    before = sent(*round_, *again)
    for message in round_:
        for key in [each for each in message.memo if "up to" not in each]:
            message.memo[key] = b"not this"

    assert sent(*round_, *again, AssistantMessage.of("So."))[:-1] == before


def test_an_answer_is_longer_than_the_thinking_in_it() -> None:
    for limit in (100, 4096):
        options = ChatOptions(max_tokens=limit, reasoning_effort="4096")
        with pytest.raises(RequestError, match="thinking budget 4096"):
            body(HI.of("hi"), options=options)
