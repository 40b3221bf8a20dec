"""Google's own SDK as the judge of what we send to Gemini, and of what we read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import httpx2
import pytest
from google import genai
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from rxagent import tool
from rxagent.errors import ModelError
from rxagent.events import ChatEvent, Finished
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
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.responses import ChatResponse
from rxagent.wire import GeminiDialect
from tests.cases.case import FOLDER, Case, load_cases
from tests.protocol.asking import request_of
from tests.protocol.test_request_parameters import answered
from tests.test_history import MESSAGES, TEXTS

Json: TypeAlias = dict[str, Any]

REQUEST = request_of("hi")
SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}}
SIGNATURE = "EqsFCqgF"


class Body(BaseModel):
    """A body, of the SDK's types: what it does not know is an error."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)

    contents: list[types.Content]
    system_instruction: types.Content | None = None
    tools: list[types.Tool] | None = None
    tool_config: types.ToolConfig | None = None
    generation_config: types.GenerationConfig | None = None
    safety_settings: list[types.SafetySetting] | None = None


def body_of(request: ChatRequest) -> bytes:
    return GeminiDialect().encode(request, model="gemini-3-flash", stream=True)


def assert_allowed(request: ChatRequest) -> None:
    """The SDK takes all of it, and has lost nothing when it writes it again."""
    encoded = body_of(request)
    known = Body.model_validate_json(encoded)
    again = known.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert folded(again) == folded(json.loads(encoded))


def known(encoded: bytes) -> Json:
    """A body as the SDK understands it.

    It sends its settings even if it has none, and its tools in another order.
    """
    body = Body.model_validate_json(encoded).model_dump(exclude_none=True)
    body["tools"].sort(key=sorted)
    return {name: value for name, value in body.items() if value != {}}


def folded(value: Any) -> Any:
    """Of bytes there are two ways to write base64, and of levels two cases."""
    match value:
        case dict():
            return {name: folded(each) for name, each in value.items()}
        case list():
            return [folded(each) for each in value]
        case str():
            return value.replace("-", "+").replace("_", "/").lower()
        case _:
            return value


@tool
def weather(city: str, days: int = 1) -> str:
    """Get the weather of a city."""
    return f"{city} {days}"


@tool
def no_description(*, tags: list[str] | None = None) -> str:
    return f"{tags}"


CALL = ToolCall(id="call_1", name="weather", arguments='{"city": "Oslo"}')
HISTORIES: dict[str, tuple[Message, ...]] = {
    "text": (UserMessage.of("hi"),),
    "empty text": (UserMessage(content=()),),
    "instructions": (SystemMessage.of("Be brief."), UserMessage.of("hi")),
    "an answer": (UserMessage.of("hi"), AssistantMessage.of("ho"), UserMessage.of("!")),
    "a thought": (
        AssistantMessage.of(
            Reasoning(text="r", signature=SIGNATURE, dialect="gemini"), "b"
        ),
    ),
    "a refusal": (AssistantMessage.of(Refusal(text="no")), UserMessage.of("but")),
    "a call": (AssistantMessage.of(CALL), ToolMessage.of("rain", call=CALL)),
    "a signed call": (
        AssistantMessage.of(
            CALL,
            Opaque(dialect="gemini", data=f'{{"thoughtSignature":"{SIGNATURE}"}}'),
        ),
        ToolMessage.of("rain", call=CALL),
    ),
    "a failed call": (
        AssistantMessage.of(CALL),
        ToolMessage.of("no such city", call=CALL, is_error=True),
    ),
    "two calls": (
        AssistantMessage.of("Let me look.", CALL, replace(CALL, id="gemini-call-2")),
        ToolMessage.of("rain", call=replace(CALL, id="gemini-call-2")),
        ToolMessage.of("sun", call=CALL),
    ),
    "a result with a picture": (
        AssistantMessage.of(CALL),
        ToolMessage.of("rain", Image(data=b"\0"), File(url="u"), call=CALL),
    ),
    "media": (
        UserMessage.of(
            "What?",
            Image(url="https://x.org"),
            Image(data=b"\0", media_type="image/webp"),
            Audio(data=b"\0"),
            File(data=b"%PDF", name="a.pdf"),
        ),
    ),
    "code that the server ran": (
        AssistantMessage.of(
            Opaque(
                dialect="gemini",
                data='{"executableCode":{"language":"PYTHON","code":"1"}}',
            ),
            Opaque(
                dialect="gemini",
                data='{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}',
            ),
        ),
        UserMessage.of("go on"),
    ),
}
OPTIONS: dict[str, ChatOptions] = {
    "none": ChatOptions(),
    "sampling": ChatOptions(temperature=0, top_p=0.5, seed=1, max_tokens=10),
    "stop": ChatOptions(stop=("a", "b")),
    "no stop": ChatOptions(stop=()),
    "schema": ChatOptions(response_schema=SCHEMA),
    "extra": ChatOptions(
        extra={
            "tools": [{"googleSearch": {}}, {"codeExecution": {}}],
            "generationConfig": {"topK": 3, "candidateCount": 1},
            "safetySettings": [
                {
                    "category": "HARM_CATEGORY_HARASSMENT",
                    "threshold": "BLOCK_ONLY_HIGH",
                }
            ],
        }
    ),
    **{
        f"reasoning {effort}": ChatOptions(reasoning_effort=effort)
        for effort in ("none", "minimal", "low", "medium", "high", "xhigh")
    },
    "a budget": ChatOptions(model="gemini-2.5-flash", reasoning_effort="high"),
    **{
        f"choice {choice}": ChatOptions(tool_choice=choice)
        for choice in ("auto", "none", "required", "weather")
    },
    "several calls at a time": ChatOptions(parallel_tool_calls=True),
}


@pytest.mark.parametrize("messages", HISTORIES.values(), ids=HISTORIES)
def test_every_kind_of_message_is_allowed(messages: tuple[Message, ...]) -> None:
    assert_allowed(ChatRequest(messages=messages))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_option_is_allowed(options: ChatOptions) -> None:
    tools = (weather, no_description)
    assert_allowed(request_of("hi", tools=tools, options=options))


@pytest.mark.parametrize(
    "extra",
    [
        {"unknown": 1},
        {"generationConfig": {"unknown": 1}},
        {"generationConfig": {"seed": "x"}},
        {"tools": [{"functionDeclarations": [{"unknown": 1}]}]},
    ],
)
def test_a_body_that_is_not_allowed_would_be_seen(extra: Json) -> None:
    with pytest.raises(ValidationError):
        assert_allowed(request_of("hi", options=ChatOptions(extra=extra)))


@settings(max_examples=60)
@given(st.lists(MESSAGES, max_size=6), TEXTS)
def test_any_history_is_allowed(messages: list[Message], text: str) -> None:
    assert_allowed(ChatRequest(messages=(SystemMessage.of(text), *answered(messages))))


def asked(answers: Iterable[bytes], config: Any, contents: Any) -> tuple[Any, bytes]:
    """What the SDK reads of a stream, and what it has sent to get it."""
    bodies: list[bytes] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.read())
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, content=b"".join(answers))

    with httpx2.Client(transport=httpx2.MockTransport(handle)) as http:
        options = types.HttpOptions(
            base_url="http://test", api_version="v1beta", httpx_client=http
        )
        client = genai.Client(api_key="k", http_options=options)
        try:
            chunks = [
                *client.models.generate_content_stream(
                    model="gemini-3-flash", contents=contents, config=config
                )
            ]
        finally:
            client.close()
    [body] = bodies
    return chunks, body


END = b'data: {"candidates":[{"finishReason":"STOP"}]}\n\n'


REQUESTS: dict[str, ChatRequest] = {
    **{
        name: ChatRequest(messages=messages, tools=(weather, no_description))
        for name, messages in HISTORIES.items()
    },
    **{
        f"options: {name}": request_of("hi", tools=(weather,), options=options)
        for name, options in OPTIONS.items()
    },
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_the_sdk_sends_what_we_send(request_: ChatRequest) -> None:
    encoded = body_of(request_)
    ours: Json = json.loads(encoded)
    config = {
        **ours.get("generationConfig", {}),
        **{
            name: value
            for name, value in ours.items()
            if name not in ("contents", "generationConfig")
        },
        "automaticFunctionCalling": {"disable": True},
    }

    _, theirs = asked([END], config, ours["contents"])

    assert known(theirs) == known(encoded)


@dataclass(frozen=True, slots=True)
class Said:
    """What a reader took from an answer."""

    text: str
    thoughts: str
    calls: tuple[tuple[str, Json], ...]
    finish_reason: str | None
    tokens: tuple[int | None, ...]


def read_by_sdk(data: bytes) -> Said:
    chunks, _ = asked([data], {}, "hi")
    candidates = [chunk.candidates[0] for chunk in chunks if chunk.candidates]
    parts = [
        part
        for candidate in candidates
        if candidate.content
        for part in candidate.content.parts or ()
    ]
    reasons = [each.finish_reason for each in candidates if each.finish_reason]
    counts = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata][-1]
    return Said(
        text="".join(part.text or "" for part in parts if not part.thought),
        thoughts="".join(part.text or "" for part in parts if part.thought),
        calls=tuple(
            (part.function_call.name, part.function_call.args or {})
            for part in parts
            if part.function_call
        ),
        finish_reason=reasons[-1].value if reasons else None,
        tokens=(
            counts.prompt_token_count,
            counts.thoughts_token_count,
            counts.total_token_count,
        ),
    )


def read_by_us(data: bytes) -> Said | ModelError:
    decoder = GeminiDialect().decoder(REQUEST, content_type="text/event-stream")
    events: list[ChatEvent] = []
    try:
        events.extend(decoder.feed(data))
        events.extend(decoder.flush())
    except ModelError as error:
        return error
    end = events[-1]
    assert isinstance(end, Finished)
    return said(end.response)


def said(response: ChatResponse) -> Said:
    return Said(
        text=response.text,
        thoughts=response.reasoning,
        calls=tuple(
            (call.name, json.loads(call.arguments)) for call in response.tool_calls
        ),
        finish_reason=response.finish_reason_raw,
        tokens=(
            response.usage.prompt_tokens,
            response.usage.reasoning_tokens,
            response.usage.total_tokens,
        ),
    )


def stream(*parts: Json, finish: str = "STOP") -> bytes:
    usage = {"promptTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 9}
    chunks: list[Json] = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}
        for part in parts
    ]
    end = {"candidates": [{"finishReason": finish}], "usageMetadata": usage}
    return b"".join(
        b"data: %b\r\n\r\n" % json.dumps(chunk).encode() for chunk in [*chunks, end]
    )


FUNCTION: Json = {"functionCall": {"id": "a", "name": "f", "args": {"x": [1, "ü"]}}}
STREAMS: dict[str, bytes] = {
    "text": stream({"text": "Grüezi, "}, {"text": "東京 🚀"}),
    "thoughts": stream({"text": "hm", "thought": True}, {"text": "42"}),
    "a signature": stream({"text": "4"}, {"text": "", "thoughtSignature": SIGNATURE}),
    "a call": stream({**FUNCTION, "thoughtSignature": SIGNATURE}),
    "calls": stream(FUNCTION, FUNCTION, {"functionCall": {"name": "g"}}),
    "code": stream(
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"text": "1"},
    ),
    "cut by length": stream({"text": "one two"}, finish="MAX_TOKENS"),
    "filtered": stream({"text": "one two"}, finish="SAFETY"),
    "nothing": stream(finish="RECITATION"),
}


@pytest.mark.parametrize("data", STREAMS.values(), ids=STREAMS)
def test_the_sdk_reads_what_we_read(data: bytes) -> None:
    assert read_by_us(data) == read_by_sdk(data)


def test_every_reason_of_the_sdk_ends_an_answer_in_its_own_way() -> None:
    """A word that is new in an update of the SDK shows up here."""
    reasons: dict[str, set[str]] = {}
    for each in types.FinishReason:
        decoder = GeminiDialect().decoder(REQUEST, content_type="text/event-stream")
        try:
            list(decoder.feed(stream({"text": "a"}, finish=each.value)))
            [end] = decoder.flush()
        except ModelError as error:
            reasons.setdefault(type(error).__name__, set()).add(each.value)
        else:
            assert isinstance(end, Finished)
            reasons.setdefault(end.response.finish_reason, set()).add(each.value)

    assert reasons.pop("content_filter") >= {"SAFETY", "RECITATION", "SPII"}
    assert reasons == {
        "stop": {"STOP"},
        "length": {"MAX_TOKENS", "CONTINUATION"},
        "unknown": {"OTHER", "IMAGE_OTHER", "NO_IMAGE"},
        "ProviderStreamError": {"TOO_MANY_TOOL_CALLS"},
        "TruncatedStreamError": {"FINISH_REASON_UNSPECIFIED"},
        "BadRequestError": {"MISSING_THOUGHT_SIGNATURE"},
        "MalformedResponseError": {
            "MALFORMED_FUNCTION_CALL",
            "MALFORMED_RESPONSE",
            "UNEXPECTED_TOOL_CALL",
        },
    }


RECORDINGS = [
    case
    for case in load_cases()
    if case.protocol == "google-generate" and "kind" not in case.given
]

if RECORDINGS:

    @pytest.mark.parametrize("case", RECORDINGS, ids=lambda case: case.id)
    def test_the_sdk_reads_a_recording_as_we_do(case: Case) -> None:
        [answer] = case.answers("whole")
        [data] = answer.reads
        assert isinstance(data, bytes)

        assert read_by_us(data) == read_by_sdk(data)

else:

    def test_there_are_no_recordings_here() -> None:
        assert not FOLDER.exists(), f"{FOLDER} holds no recordings"
