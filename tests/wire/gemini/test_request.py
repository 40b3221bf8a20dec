from __future__ import annotations

import copy
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
    UserPart,
)
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.wire import GeminiDialect

Json: TypeAlias = dict[str, Any]

HI = UserMessage.of("hi")
CALL = ToolCall(id="a", name="f", arguments='{"x": 1}')
NAMELESS = ToolCall(id="gemini-call-1", name="f", arguments='{"x": 1}')
WEATHER = ToolSpec(
    name="weather",
    description="Tell the weather.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}},
)
SCHEMA: Json = {"type": "object", "properties": {"a": {"type": "string"}}}


def signature(text: str = "S") -> Opaque:
    return Opaque(dialect="gemini", data=json.dumps({"thoughtSignature": text}))


def body(
    *messages: Message,
    tools: tuple[ToolSpec, ...] = (),
    options: ChatOptions | None = None,
    model: str = "gemini-3-pro",
) -> Json:
    request = ChatRequest(
        messages=messages or (HI,), tools=tools, options=options or ChatOptions()
    )
    encoded = GeminiDialect().encode(request, model=model, stream=True)
    found: Json = json.loads(encoded)
    return found


def sent(*messages: Message) -> list[Json]:
    found: list[Json] = body(*messages)["contents"]
    return found


def parts_of(*content: Any) -> list[Json]:
    """Those of an assistant message, whose calls are answered."""
    message = AssistantMessage.of(*content)
    results = [ToolMessage.of("r", call=call) for call in message.tool_calls]
    return sent(HI, message, *results, HI)[1]["parts"]  # type: ignore[no-any-return]


def test_a_plain_request_is_its_contents_streamed_or_not() -> None:
    request = ChatRequest(messages=(HI,))
    expected = b'{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}'

    for stream in (True, False):
        assert GeminiDialect().encode(request, model="m", stream=stream) == expected


def test_options_are_sent_where_they_are_set() -> None:
    options = ChatOptions(
        model="gemini-3-flash",
        temperature=0.0,
        top_p=0.5,
        max_tokens=7,
        stop=("a", "b"),
        seed=1,
        tool_choice="required",
        parallel_tool_calls=True,
        response_schema=SCHEMA,
        reasoning_effort="low",
        extra={"safetySettings": [{"category": "C", "threshold": "OFF"}]},
    )

    assert body(tools=(WEATHER,), options=options) == {
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "weather",
                        "description": "Tell the weather.",
                        "parametersJsonSchema": WEATHER.parameters,
                    }
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {
            "temperature": 0.0,
            "topP": 0.5,
            "maxOutputTokens": 7,
            "stopSequences": ["a", "b"],
            "seed": 1,
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
            "thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True},
        },
        "safetySettings": [{"category": "C", "threshold": "OFF"}],
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    }


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("weather", {"mode": "ANY", "allowedFunctionNames": ["weather"]}),
    ],
)
def test_each_choice_of_a_tool_has_its_mode(choice: str, config: Json) -> None:
    found = body(tools=(WEATHER,), options=ChatOptions(tool_choice=choice))

    assert found["toolConfig"] == {"functionCallingConfig": config}
    assert "toolConfig" not in body(tools=(WEATHER,))


def test_a_tool_that_takes_nothing_and_says_nothing_is_a_name() -> None:
    tool = ToolSpec(name="now", description="", parameters={})

    assert body(tools=(tool,))["tools"] == [{"functionDeclarations": [{"name": "now"}]}]


@pytest.mark.parametrize(
    ("model", "effort", "config"),
    [
        ("gemini-3-pro", "low", {"thinkingLevel": "low", "includeThoughts": True}),
        ("gemini-3-pro", "xhigh", {"thinkingLevel": "xhigh", "includeThoughts": True}),
        ("other", "minimal", {"thinkingLevel": "minimal", "includeThoughts": True}),
        ("gemini-3-pro", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        (
            "gemini-2.5-flash",
            "low",
            {"thinkingBudget": 1024, "includeThoughts": True},
        ),
        (
            "models/gemini-2.5-pro",
            "high",
            {"thinkingBudget": 24576, "includeThoughts": True},
        ),
    ],
)
def test_an_effort_is_a_level_or_for_older_models_a_budget(
    model: str, effort: str, config: Json
) -> None:
    found = body(options=ChatOptions(model=model, reasoning_effort=effort))

    assert found["generationConfig"] == {"thinkingConfig": config}


def test_extra_goes_beside_what_is_there_and_wins() -> None:
    extra = {
        "tools": [{"googleSearch": {}}],
        "generationConfig": {
            "topK": 40,
            "seed": 2,
            "thinkingConfig": {"includeThoughts": False},
        },
        "cachedContent": "cachedContents/1",
    }

    found = body(
        tools=(WEATHER,),
        options=ChatOptions(seed=1, reasoning_effort="low", extra=extra),
    )

    assert [list(each) for each in found["tools"]] == [
        ["functionDeclarations"],
        ["googleSearch"],
    ]
    assert found["generationConfig"] == {
        "topK": 40,
        "seed": 2,
        "thinkingConfig": {"thinkingLevel": "low", "includeThoughts": False},
    }
    assert found["cachedContent"] == "cachedContents/1"


def test_instructions_are_apart_from_the_contents() -> None:
    found = body(
        HI,
        SystemMessage.of("Be brief."),
        SystemMessage.of(""),
        SystemMessage.of("北京"),
    )

    assert found == {
        "systemInstruction": {"parts": [{"text": "Be brief.\n\n北京"}]},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    }


def test_media_are_sent_as_data_or_as_an_address() -> None:
    data = b"\x89PNG"
    encoded = b64encode(data).decode()
    parts: tuple[str | UserPart, ...] = (
        "look",
        "",
        Image(data=data),
        Image(url="https://x/i.jpg", media_type="image/jpeg"),
        Audio(data=data, media_type="audio/ogg"),
        File(data=data, name="a.pdf"),
        File(url="https://x/files/1", media_type="video/mp4"),
    )

    def inline(kind: str) -> Json:
        return {"inlineData": {"mimeType": kind, "data": encoded}}

    def address(kind: str, url: str) -> Json:
        return {"fileData": {"mimeType": kind, "fileUri": url}}

    assert sent(UserMessage.of(*parts))[0]["parts"] == [
        {"text": "look"},
        inline("image/png"),
        address("image/jpeg", "https://x/i.jpg"),
        inline("audio/ogg"),
        inline("application/pdf"),
        address("video/mp4", "https://x/files/1"),
    ]
    assert sent(UserMessage(content=()))[0]["parts"] == [{"text": ""}]


def test_the_results_of_a_batch_are_one_message_behind_their_calls() -> None:
    """M-46, paired-tools, loop-anthropic-results-in-one-message."""
    other = ToolCall(id="gemini-call-2", name="g")
    contents = sent(
        HI,
        AssistantMessage.of("Let me see.", CALL, other),
        ToolMessage.of("B", call=other),
        UserMessage.of("hurry"),
        ToolMessage.of("no", " such city", call=CALL, is_error=True),
        AssistantMessage.of(CALL),
        ToolMessage.of(call=CALL),
    )

    def result(name: str, **response: str) -> Json:
        return {"name": name, "response": response}

    assert contents == [
        {"role": "user", "parts": [{"text": "hi"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Let me see."},
                {"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}},
                {"functionCall": {"name": "g", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "a", **result("f", error="no such city")}},
                {"functionResponse": result("g", output="B")},
            ],
        },
        {"role": "user", "parts": [{"text": "hurry"}]},
        {
            "role": "model",
            "parts": [{"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}}],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "a", **result("f", output="")}}],
        },
    ]


def test_media_in_a_result_are_parts_of_it() -> None:
    result = ToolMessage.of("see", Image(data=b"x"), File(url="u"), call=CALL)

    [part] = sent(HI, AssistantMessage.of(CALL), result)[2]["parts"]

    assert part["functionResponse"]["response"] == {"output": "see"}
    assert part["functionResponse"]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "eA=="}},
        {"fileData": {"mimeType": "application/pdf", "fileUri": "u"}},
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
    [part] = parts_of(ToolCall(id="a", name="f", arguments=written))

    assert part["functionCall"]["args"] == arguments


@pytest.mark.parametrize(
    ("name", "wire"),
    [("f", "f"), ("functions.get it", "functions_get_it"), ("", "unnamed")],
)
def test_a_name_that_the_model_dreamed_up_does_not_poison_the_history(
    name: str, wire: str
) -> None:
    call = ToolCall(id="a", name=name)
    _, asked, answered = sent(
        HI, AssistantMessage.of(call), ToolMessage.of("r", call=call)
    )

    assert asked["parts"][0]["functionCall"]["name"] == wire
    assert answered["parts"][0]["functionResponse"]["name"] == wire


def test_a_signature_goes_back_on_exactly_what_it_signs() -> None:
    """M-46: merged with nothing, lost nowhere."""
    empty = Opaque(dialect="gemini", data='{"text":"","thoughtSignature":"E"}')

    assert parts_of(
        "a",
        signature("A"),
        "b",
        NAMELESS,
        signature("C"),
        ToolCall(id="gemini-call-2", name="g"),
        empty,
        Reasoning(text="hm", signature="R", dialect="gemini"),
        "c",
    ) == [
        {"text": "a", "thoughtSignature": "A"},
        {"text": "b"},
        {
            "functionCall": {"name": "f", "args": {"x": 1}},
            "thoughtSignature": "C",
        },
        {"functionCall": {"name": "g", "args": {}}},
        {"text": "", "thoughtSignature": "E"},
        {"text": "hm", "thought": True, "thoughtSignature": "R"},
        {"text": "c"},
    ]


def test_a_signature_whose_part_is_gone_signs_no_other() -> None:
    assert parts_of(signature("A"), signature("B"), "a") == [
        {"text": "", "thoughtSignature": "A"},
        {"text": "", "thoughtSignature": "B"},
        {"text": "a"},
    ]


def test_what_others_understand_and_unsigned_thoughts_stay_here() -> None:
    code = Opaque(dialect="gemini", data='{"executableCode":{"code":"1"}}')

    assert parts_of(
        Reasoning(text="unsigned"),
        Reasoning(text="theirs", signature="T", dialect="anthropic"),
        Opaque(dialect="anthropic", data="{"),
        code,
        Refusal(text="No."),
        "",
    ) == [{"executableCode": {"code": "1"}}, {"text": "No."}]


def test_an_assistant_message_with_nothing_to_send_is_left_out() -> None:
    """no-empty-assistant."""
    nothing = AssistantMessage.of(Reasoning(text="hm"), Opaque(dialect="x", data="{}"))

    assert [message["role"] for message in sent(HI, nothing, HI)] == ["user", "user"]


def test_every_string_fits_utf_8() -> None:
    """utf8-encodable."""
    half = "a\ud83d"
    call = ToolCall(id=half, name="f", arguments=half)
    request = ChatRequest(
        messages=(
            SystemMessage.of(half),
            UserMessage.of(half),
            AssistantMessage.of(half, call),
            ToolMessage.of(half, call=call),
        ),
        options=ChatOptions(extra={"labels": {"user": half}}),
    )

    encoded = GeminiDialect().encode(request, model="m", stream=True).decode()

    assert encoded.count("a\ufffd") == 8


REFUSED: dict[str, tuple[ChatRequest, str]] = {
    "no messages": (ChatRequest(messages=()), "no message"),
    "instructions alone": (
        ChatRequest(messages=(SystemMessage.of("a"),)),
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
    "a tool of a bad name": (
        ChatRequest(
            messages=(HI,),
            tools=(ToolSpec(name="a b", description="", parameters={}),),
        ),
        "the tool name 'a b' cannot be sent",
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
    "one call at a time": (
        ChatRequest(messages=(HI,), options=ChatOptions(parallel_tool_calls=False)),
        "one call at a time",
    ),
    "an effort without a budget": (
        ChatRequest(
            messages=(HI,),
            options=ChatOptions(model="gemini-2.5-pro", reasoning_effort="extreme"),
        ),
        "reasoning_effort is 'extreme', but gemini-2.5-pro takes none, minimal, low",
    ),
    "options that are no JSON": (
        ChatRequest(messages=(HI,), options=ChatOptions(extra={"x": object()})),
        "the options are not JSON",
    ),
    "contents in extra": (
        ChatRequest(messages=(HI,), options=ChatOptions(extra={"contents": []})),
        "extra must not hold 'contents'",
    ),
    "an opaque part that is broken": (
        ChatRequest(
            messages=(HI, AssistantMessage.of(Opaque(dialect="gemini", data="{")))
        ),
        "a part of dialect 'gemini' is not JSON",
    ),
    "an opaque part that is no object": (
        ChatRequest(
            messages=(HI, AssistantMessage.of(Opaque(dialect="gemini", data="[1]")))
        ),
        "a part of dialect 'gemini' is no JSON object",
    ),
}


@pytest.mark.parametrize(("request_", "words"), REFUSED.values(), ids=REFUSED)
def test_what_the_format_cannot_express_is_an_error(
    request_: ChatRequest, words: str
) -> None:
    with pytest.raises(RequestError, match=words):
        GeminiDialect().encode(request_, model="m", stream=True)


TURN: tuple[Message, ...] = (
    HI,
    AssistantMessage.of(CALL, NAMELESS),
    ToolMessage.of("r", call=CALL),
    ToolMessage.of("s", call=NAMELESS),
)


def copies(*messages: Message) -> tuple[Message, ...]:
    """The same messages, of which nobody remembers anything."""
    return tuple(map(copy.deepcopy, messages))


def test_a_message_is_encoded_once() -> None:
    """Law 9: the rounds of a tool loop join bytes that are there."""
    conversation = copies(*TURN)
    sent(*conversation)
    for message in conversation:
        for key in [each for each in message.memo if "up to" not in each]:
            message.memo[key] = b"not this"

    roles = [each["role"] for each in sent(*conversation, UserMessage.of("and?"))]

    assert roles == ["user", "model", "user", "user"]


@pytest.mark.parametrize(
    "steps", [[2, 5, 9, 10], [5, 10], [2], [5, 9], [10, 5], [9, 9, 10, 10]], ids=str
)
def test_a_growing_conversation_is_sent_as_if_it_were_new(steps: list[int]) -> None:
    system, late = SystemMessage.of("be brief"), SystemMessage.of("be kind")
    whole: tuple[Message, ...] = (system, *TURN, *TURN, late, *TURN)
    growing = copies(*whole)
    for step in steps:
        sent(*growing[:step])

    assert body(*growing) == body(*copies(*whole))
