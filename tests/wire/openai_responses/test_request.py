from __future__ import annotations

import json
from base64 import b64encode
from typing import Any, TypeAlias

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
)
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.wire import OpenAIResponsesDialect
from tests.wire.openai_responses.decoding import decode
from tests.wire.openai_responses.streams import (
    Item,
    called,
    events_of,
    message,
    other,
    reasoning,
    refused,
    sse,
)

Json: TypeAlias = dict[str, Any]

HI = UserMessage.of("hi")
HI_SENT = {"type": "message", "role": "user", "content": "hi"}
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
    dialect: OpenAIResponsesDialect | None = None,
) -> Json:
    request = ChatRequest(
        messages=messages or (HI,), tools=tools, options=options or ChatOptions()
    )
    dialect = dialect or OpenAIResponsesDialect()
    found: Json = json.loads(dialect.encode(request, model="m", stream=stream))
    return found


def sent(*messages: Message, **extra: object) -> list[Json]:
    found: list[Json] = body(*messages, options=ChatOptions(extra=extra))["input"]
    return found


def answered(*items: Item) -> AssistantMessage:
    """The message that a model's items were read as."""
    return decode(sse(events_of(*items))).response.message


def results(message: AssistantMessage) -> list[ToolMessage]:
    return [ToolMessage.of("ok", call=call) for call in message.tool_calls]


def sent_again(*items: Item, **extra: object) -> list[Json]:
    """The items that go back after an answer, without the results of its calls."""
    said = answered(*items)
    found = sent(said, *results(said), UserMessage.of("go on"), **extra)
    return [
        each
        for each in found
        if each.get("role") != "user" and each["type"] != "function_call_output"
    ]


def test_a_plain_request_stores_nothing_and_asks_for_encrypted_reasoning() -> None:
    plain = {
        "model": "m",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "input": [HI_SENT],
    }

    assert body() == plain
    assert body(stream=False) == {**plain, "stream": False}
    without = OpenAIResponsesDialect(encrypted_reasoning=False)
    assert "include" not in body(dialect=without)


def test_options_are_sent_where_they_are_set() -> None:
    options = ChatOptions(
        model="big",
        temperature=0.0,
        top_p=0.5,
        max_tokens=7,
        stop=(),
        tool_choice="required",
        parallel_tool_calls=False,
        response_schema={"title": "A film!", "type": "object"},
        reasoning_effort="low",
    )

    assert body(options=options, tools=(WEATHER,)) == {
        "model": "big",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "temperature": 0.0,
        "top_p": 0.5,
        "max_output_tokens": 7,
        "reasoning": {"effort": "low"},
        "text": {
            "format": {
                "type": "json_schema",
                "name": "A_film_",
                "schema": {"title": "A film!", "type": "object"},
                "strict": False,
            }
        },
        "tools": [
            {
                "type": "function",
                "name": "weather",
                "description": "Tell the weather.",
                "parameters": WEATHER.parameters,
                "strict": False,
            }
        ],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "input": [HI_SENT],
    }


def test_extra_adds_to_objects_and_lists_and_replaces_the_rest() -> None:
    options = ChatOptions(
        reasoning_effort="low",
        response_schema={"type": "object"},
        extra={
            "reasoning": {"summary": "auto"},
            "text": {"verbosity": "low"},
            "tools": [{"type": "web_search"}],
            "include": ["web_search_call.action.sources"],
            "store": True,
            "metadata": {"k": "v"},
        },
    )

    found = body(options=options, tools=(WEATHER,))

    assert found["reasoning"] == {"effort": "low", "summary": "auto"}
    assert found["text"]["verbosity"] == "low"
    assert found["text"]["format"]["name"] == "answer"
    assert [tool["type"] for tool in found["tools"]] == ["function", "web_search"]
    assert found["include"] == [
        "reasoning.encrypted_content",
        "web_search_call.action.sources",
    ]
    assert (found["store"], found["metadata"]) == (True, {"k": "v"})
    assert body(options=ChatOptions(extra={"include": None}))["include"] is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (ChatOptions(stop=("END",)), "no 'stop'"),
        (ChatOptions(seed=0), "no 'seed'"),
        (ChatOptions(extra={"input": []}), "'input'"),
        (ChatOptions(extra={"instructions": "x"}), "'instructions'"),
        (ChatOptions(extra={"n": float("nan")}), "not JSON"),
        (ChatOptions(extra={"n": object()}), "not JSON"),
        (ChatOptions(tool_choice="required"), "no tools"),
    ],
)
def test_what_the_api_has_no_place_for_is_refused(
    options: ChatOptions, words: str
) -> None:
    with pytest.raises(RequestError, match=words):
        body(SystemMessage.of("s"), HI, options=options)


def test_extra_may_hold_the_instructions_where_there_are_no_others() -> None:
    options = ChatOptions(extra={"instructions": "Be brief."})

    assert body(options=options)["instructions"] == "Be brief."


@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("weather", {"type": "function", "name": "weather"}),
    ],
)
def test_a_tool_is_chosen_by_word_or_by_name(choice: str, wire: object) -> None:
    options = ChatOptions(tool_choice=choice)

    assert body(options=options, tools=(WEATHER,))["tool_choice"] == wire


def test_a_tool_that_is_not_there_cannot_be_chosen() -> None:
    with pytest.raises(RequestError, match="'wether', but the tools are weather"):
        body(options=ChatOptions(tool_choice="wether"), tools=(WEATHER,))


@pytest.mark.parametrize("choice", ["auto", "none", None])
def test_without_tools_their_options_are_met_and_not_sent(choice: str | None) -> None:
    options = ChatOptions(tool_choice=choice, parallel_tool_calls=True)

    assert body(options=options).keys() == body().keys()


def test_the_text_of_all_system_messages_is_the_instructions() -> None:
    found = body(
        HI,
        SystemMessage.of("Be brief."),
        SystemMessage.of(""),
        SystemMessage.of("北京"),
    )

    assert found["instructions"] == "Be brief.\n\n北京"
    assert found["input"] == [HI_SENT]


@pytest.mark.parametrize("messages", [(), (SystemMessage.of("s"),)])
def test_nothing_to_answer_is_refused(messages: tuple[Message, ...]) -> None:
    request = ChatRequest(messages=messages)

    with pytest.raises(RequestError, match="no message"):
        OpenAIResponsesDialect().encode(request, model="m", stream=True)


def test_parts_are_sent_as_parts_and_text_alone_as_a_string() -> None:
    data = b"\x89PNG"
    encoded = b64encode(data).decode()
    parts = (
        "look",
        Image(data=data),
        Image(url="http://x/i.png"),
        File(data=data, name="a.pdf"),
        File(url="http://x/a.pdf"),
    )
    wire = [
        {"type": "input_text", "text": "look"},
        {
            "type": "input_image",
            "image_url": f"data:image/png;base64,{encoded}",
            "detail": "auto",
        },
        {"type": "input_image", "image_url": "http://x/i.png", "detail": "auto"},
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": f"data:application/pdf;base64,{encoded}",
        },
        {"type": "input_file", "file_url": "http://x/a.pdf"},
    ]

    assert sent(UserMessage.of(*parts))[0]["content"] == wire
    assert sent(UserMessage.of("a", "b"))[0]["content"] == "ab"
    asked = AssistantMessage.of(CALL)
    assert sent(asked, ToolMessage.of(*parts, call=CALL))[1]["output"] == wire


def test_audio_is_refused_and_says_where_it_was() -> None:
    sound = Audio(data=b"\0")
    with pytest.raises(RequestError, match="a user message holds audio"):
        sent(UserMessage.of(sound))
    with pytest.raises(RequestError, match="the result of tool 'f' holds audio"):
        sent(AssistantMessage.of(CALL), ToolMessage.of(sound, call=CALL))


def test_results_stand_behind_their_calls() -> None:
    """Wherever they are in the history."""
    other = ToolCall(id="b", name="get weather!", arguments='{"x')
    found = sent(
        ToolMessage.of("two", call=other),
        HI,
        AssistantMessage.of("Let me look.", CALL, other),
        ToolMessage.of("one", call=CALL, is_error=True),
    )

    assert found == [
        HI_SENT,
        {"type": "message", "role": "assistant", "content": "Let me look."},
        {
            "type": "function_call",
            "call_id": "a",
            "name": "f",
            "arguments": '{"x": 1}',
        },
        {
            "type": "function_call",
            "call_id": "b",
            "name": "get_weather_",
            "arguments": '{"INVALID_JSON":"{\\"x"}',
        },
        {"type": "function_call_output", "call_id": "a", "output": "Error: one"},
        {"type": "function_call_output", "call_id": "b", "output": "two"},
    ]
    with pytest.raises(RequestError, match="no result"):
        sent(AssistantMessage.of(CALL))


def test_what_a_model_said_is_one_message_and_its_reasoning_stays_here() -> None:
    said = AssistantMessage.of(
        Reasoning(text="hm", signature="s", dialect="anthropic"),
        "a",
        Opaque(dialect="openai", data="{"),
        Refusal(text="b"),
        "",
    )

    assert sent(said, HI) == [
        {"type": "message", "role": "assistant", "content": "ab"},
        HI_SENT,
    ]
    assert sent(AssistantMessage.of(Reasoning(text="hm")), HI) == [HI_SENT]


ITEMS = (
    reasoning(["hm"]),
    other(),
    message(["Let me ", "look."], phase="commentary"),
    called("f", "{}", call_id="a", item_id="fc_a"),
    called("g", "{}", call_id="b", item_id="fc_b"),
)


def test_an_answer_with_reasoning_goes_back_item_by_item_as_it_came() -> None:
    """M-57: the provider compares them, ids included."""
    back = sent_again(*ITEMS)

    part = {"type": "output_text", "annotations": [], "text": "Let me look."}
    assert back == [
        ITEMS[0].whole,
        ITEMS[1].whole,
        {**ITEMS[2].whole, "content": [part]},
        ITEMS[3].whole,
        ITEMS[4].whole,
    ]


def test_a_message_of_several_parts_goes_back_as_one() -> None:
    said = message(["a"], ["b"])
    back = sent_again(reasoning(), said, refused("no", item_id="msg_2"))

    assert [each.get("id") for each in back] == ["rs_1", "msg_1", "msg_2"]
    assert [part["text"] for part in back[1]["content"]] == ["a", "b"]
    assert back[2]["content"] == [{"type": "refusal", "refusal": "no"}]


def test_reasoning_that_cannot_be_found_again_stays_here_with_all_ids() -> None:
    """Nothing is stored, so an id alone means nothing; it would be refused."""
    hidden = reasoning(["hm"], encrypted=None)

    back = sent_again(hidden, *ITEMS[2:])

    assert back == [
        {
            "type": "message",
            "role": "assistant",
            "content": "Let me look.",
            "phase": "commentary",
        },
        *({k: v for k, v in item.whole.items() if k != "id"} for item in ITEMS[3:]),
    ]


def test_stored_reasoning_goes_back_by_its_id() -> None:
    hidden = reasoning(["hm"], encrypted=None)

    back = sent_again(hidden, ITEMS[3], store=True)

    assert back == [hidden.whole, ITEMS[3].whole]


def test_reasoning_that_nothing_follows_stays_here() -> None:
    """As where an answer was cut off while the model thought; it would be refused."""
    assert sent_again(reasoning(["hm"])) == []
    assert (
        sent_again(message(["a"]), reasoning(["hm"]))
        == [{"type": "message", "role": "assistant", "content": "a"}]
        or sent_again(message(["a"]), reasoning(["hm"]))[0]["type"] == "message"
    )


def test_raw_reasoning_goes_back_as_it_came() -> None:
    thought = {"type": "reasoning_text", "text": "hm"}
    item = {"type": "reasoning", "id": "rs", "summary": [], "content": [thought]}
    raw = Opaque(dialect="openai responses", data=json.dumps(item))

    assert sent(AssistantMessage.of(raw, "a"), HI)[0] == item


def test_another_provider_gets_the_words_and_nothing_that_it_cannot_read() -> None:
    said = answered(*ITEMS[:3])

    elsewhere = body(said, HI, dialect=OpenAIResponsesDialect(name="other"))

    assert elsewhere["input"] == [
        {"type": "message", "role": "assistant", "content": "Let me look."},
        HI_SENT,
    ]


@pytest.mark.parametrize(("data", "words"), [("{", "not JSON"), ("[1]", "no JSON obj")])
def test_an_opaque_part_that_is_no_object_is_refused(data: str, words: str) -> None:
    part = Opaque(dialect="openai responses", data=data)

    with pytest.raises(RequestError, match=words):
        sent(AssistantMessage.of(part), HI)


def test_a_round_encodes_what_it_adds_and_the_settings_have_bytes_of_their_own() -> (
    None
):
    """Law 9."""
    said = answered(reasoning(["hm"], encrypted=None), called("f", "{}"))
    history: tuple[Message, ...] = (HI, said, *results(said))

    first, stored, again = sent(*history), sent(*history, store=True), sent(*history)

    assert first == again
    assert [each["type"] for each in first] == [
        "message",
        "function_call",
        "function_call_output",
    ]
    assert [each["type"] for each in stored][1] == "reasoning"
    longer = sent(*history, AssistantMessage.of("done"), HI)
    assert longer[: len(first)] == first
    assert longer[-1] == HI_SENT
