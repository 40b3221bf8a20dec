"""Anthropic's SDK as the judge of what we send, read and call retryable."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias, get_args, get_type_hints

import anthropic
import httpx2
import pytest
from anthropic.types import Message as SdkMessage
from anthropic.types import OutputConfigParam
from anthropic.types.message_create_params import (
    MessageCreateParamsNonStreaming,
    MessageCreateParamsStreaming,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall
from pydantic import TypeAdapter, ValidationError

from rxagent import tool
from rxagent.errors import ModelError
from rxagent.events import ChatEvent, Finished
from rxagent.messages import (
    AssistantMessage,
    File,
    Image,
    Message,
    Opaque,
    Reasoning,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from rxagent.messages import ToolCall as Call
from rxagent.models import AnthropicChat
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.wire import AnthropicDialect
from tests.cases.case import FOLDER, Case, load_cases
from tests.protocol.asking import ask, request_of

Json: TypeAlias = dict[str, Any]

REQUEST = request_of("hi")

AGREES = frozenset(
    {
        "anthropic-duplicate-message-start",
        "anthropic-redacted-thinking",
        "anthropic-tool-no-args",
    }
)
DIFFERS = {
    "anthropic-truncated-tool-json": "it mends the arguments of a call that was cut",
}

STREAMED = TypeAdapter[Any](MessageCreateParamsStreaming)
WHOLE = TypeAdapter[Any](MessageCreateParamsNonStreaming)

by_stream = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@dataclass(frozen=True, slots=True)
class Said:
    """What a reader took from an answer."""

    blocks: tuple[Json, ...]
    stop_reason: str | None
    counts: tuple[int | None, ...]


def said_by_sdk(message: SdkMessage) -> Said:
    usage = message.usage
    return Said(
        blocks=tuple(json.loads(each.to_json()) for each in message.content),
        stop_reason=message.stop_reason,
        counts=(
            usage.input_tokens,
            usage.cache_read_input_tokens,
            usage.cache_creation_input_tokens,
            usage.output_tokens,
        ),
    )


def said_by_us(response: ChatResponse) -> Said:
    """The blocks are those that go back to the server."""
    usage = response.usage
    return Said(
        blocks=tuple(blocks_of(response.message)),
        stop_reason=response.finish_reason_raw,
        counts=(
            usage.input_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            usage.output_tokens,
        ),
    )


def blocks_of(message: AssistantMessage) -> list[Json]:
    results = [ToolMessage.of("ok", call=call) for call in message.tool_calls]
    request = ChatRequest(messages=(UserMessage.of("hi"), message, *results))
    blocks: list[Json] = body_of(request, stream=True)["messages"][1]["content"]
    return blocks


@contextmanager
def sdk_of(
    answer: httpx2.Response, *, max_retries: int = 0
) -> Generator[tuple[anthropic.Anthropic, list[httpx2.Request]]]:
    """The SDK before a transport that gives ``answer``, and the requests it makes."""
    requests: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return answer

    with (
        httpx2.Client(transport=httpx2.MockTransport(handle)) as client,
        anthropic.Anthropic(
            api_key="k",
            base_url="http://test",
            http_client=client,
            max_retries=max_retries,
        ) as sdk,
    ):
        yield sdk, requests


def read_by_sdk(case: Case) -> Said | Exception:
    [answer] = case.answers("whole")
    [data] = answer.reads
    assert isinstance(data, bytes)
    response = httpx2.Response(answer.status, headers=answer.headers, content=data)
    try:
        with (
            sdk_of(response) as (sdk, _),
            sdk.messages.stream(model="m", max_tokens=1, messages=[]) as stream,
        ):
            return said_by_sdk(stream.get_final_message())
    except Exception as error:  # noqa: BLE001 - it is what the SDK made of it
        return error


def read_by_us(case: Case) -> Said:
    [answer] = case.answers("whole")
    [data] = answer.reads
    assert isinstance(data, bytes)
    kind = answer.headers["content-type"]
    decoder = AnthropicDialect().decoder(REQUEST, content_type=kind)
    events: list[ChatEvent] = [*decoder.feed(data), *decoder.flush()]
    end = events[-1]
    assert isinstance(end, Finished)
    return said_by_us(end.response)


RECORDINGS = [
    case
    for case in load_cases()
    if case.protocol == "anthropic-messages" and "kind" not in case.given
]

if RECORDINGS:

    @pytest.mark.parametrize("case", RECORDINGS, ids=lambda case: case.id)
    def test_the_sdk_reads_a_recording_as_we_do(case: Case) -> None:
        theirs, ours = read_by_sdk(case), read_by_us(case)

        if case.id in AGREES:
            assert theirs == ours
        elif case.id in DIFFERS:
            assert theirs != ours, "it does by now"
        else:
            assert isinstance(theirs, Exception) or theirs == ours

else:

    def test_there_are_no_recordings_here() -> None:
        assert not FOLDER.exists(), f"{FOLDER} holds no recordings"


ANSWERS: dict[str, Reply] = {
    "text": Reply(text="Grüezi, 東京 🚀 and the rest."),
    "a call": Reply(tool_calls=(ToolCall("find", {"name": "Zoë 🚀", "near": [1]}),)),
    "two calls": Reply(tool_calls=(ToolCall("a", {"b": 'c"\\'}), ToolCall("b", {}))),
    "text and a call": Reply(text="Let me look.", tool_calls=(ToolCall("a", {}),)),
    "cut by length": Reply(text="one two", finish_reason="length"),
    "refused": Reply(text="one two", finish_reason="content_filter"),
}


@by_stream
@pytest.mark.parametrize("reply", ANSWERS.values(), ids=ANSWERS)
def test_the_sdk_sends_what_we_send_and_reads_what_we_read(
    llmock: LLMock, reply: Reply, stream: bool
) -> None:
    llmock.add(reply, reply)
    request = request_of(
        "Where is the rocket?",
        tools=(ToolSpec(name="find", description="Find.", parameters={}),),
        options=ChatOptions(stream=stream, stop=("END",), max_tokens=100),
    )

    [ours] = ask(AnthropicChat(model="claude-opus-4-6"), request)
    theirs = asked_by_sdk(request, stream=stream)

    first, second = llmock.requests
    assert first.body == second.body
    found, wanted = said_by_us(ours.response), said_by_sdk(theirs)
    assert without_ids(found.blocks) == without_ids(wanted.blocks)
    assert (found.stop_reason, found.counts) == (wanted.stop_reason, wanted.counts)


def asked_by_sdk(request: ChatRequest, *, stream: bool) -> SdkMessage:
    """What the SDK makes of our body: it refuses a member that it does not know."""
    body = body_of(request, stream=stream, model="claude-opus-4-6")
    del body["stream"]
    with anthropic.Anthropic(max_retries=0) as sdk:
        if not stream:
            answer: Any = sdk.messages.create(**body, stream=False)
            assert isinstance(answer, SdkMessage)
            return answer
        with sdk.messages.stream(**body) as events:
            return events.get_final_message()


def without_ids(blocks: Iterable[Json]) -> list[Json]:
    """The server makes new ones each time."""
    return [
        {name: each for name, each in block.items() if name != "id"} for block in blocks
    ]


def test_what_the_sdk_asks_again_is_what_we_call_retryable() -> None:
    statuses = range(400, 600)
    dialect, now = AnthropicDialect(), datetime.now(UTC)

    asked_again = {status for status in statuses if is_asked_again(status)}

    assert asked_again == {
        status
        for status in statuses
        if dialect.error(status, {}, b"", now=now).retryable
    }


def is_asked_again(status: int) -> bool:
    response = httpx2.Response(status, headers={"retry-after-ms": "1"})
    with sdk_of(response, max_retries=1) as (sdk, requests):
        with suppress(anthropic.APIStatusError):
            sdk.messages.create(model="m", max_tokens=1, messages=[])
        return len(requests) > 1


def test_an_error_event_is_an_error_of_the_same_words() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Wait."}}
    data = b"event: error\ndata: %b\n\n" % json.dumps(body).encode()
    headers = {"content-type": "text/event-stream"}
    decoder = AnthropicDialect().decoder(REQUEST, content_type=headers["content-type"])
    with pytest.raises(ModelError, match="Wait") as ours:
        decoder.feed(data)

    with (
        sdk_of(httpx2.Response(200, headers=headers, content=data)) as (sdk, _),
        pytest.raises(anthropic.APIStatusError, match="Wait") as theirs,
        sdk.messages.stream(model="m", max_tokens=1, messages=[]) as stream,
    ):
        stream.until_done()
    assert theirs.value.body == body
    assert ours.value.code == "overloaded_error"


def known_part(body: Json, *, stream: bool) -> Json:
    """What the SDK's types know of ``body``.

    Raises:
        ValidationError: If it has a value that they do not allow, or lacks one.
    """
    adapter = STREAMED if stream else WHOLE
    known: Json = read_all(adapter.validate_python(body, strict=True))
    return known


def read_all(value: Any) -> Any:
    """Lists for the iterators that pydantic validates while they are read."""
    if isinstance(value, dict):
        return {name: read_all(each) for name, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [read_all(each) for each in value]
    return value


def body_of(request: ChatRequest, *, stream: bool, model: str = "m") -> Json:
    encoded = AnthropicDialect().encode(request, model=model, stream=stream)
    body: Json = json.loads(encoded)
    return body


def assert_allowed(request: ChatRequest, *, stream: bool) -> None:
    body = body_of(request, stream=stream)
    assert known_part(body, stream=stream) == body


@tool
def weather(city: str, days: int = 1) -> str:
    """Get the weather of a city."""
    return f"{city} {days}"


CALL = Call(id="call_1", name="weather", arguments='{"city": "Oslo"}')
SIGNED = Reasoning(text="hm", signature="s==", dialect="anthropic")
HISTORIES: dict[str, tuple[Message, ...]] = {
    "text": (UserMessage.of("hi"),),
    "instructions": (SystemMessage.of("Be brief."), UserMessage.of("hi")),
    "an answer": (UserMessage.of("hi"), AssistantMessage.of("ho"), UserMessage.of("!")),
    "a thought": (
        AssistantMessage.of(SIGNED, "ho"),
        UserMessage.of("!"),
    ),
    "a hidden thought": (
        AssistantMessage.of(
            Opaque(dialect="anthropic", data='{"type":"redacted_thinking","data":"x"}'),
            CALL,
        ),
        ToolMessage.of("rain", call=CALL),
    ),
    "a call of the server": (
        AssistantMessage.of(
            Opaque(
                dialect="anthropic",
                data='{"type":"server_tool_use","id":"s","name":"web_search","input":{}}',
            ),
        ),
    ),
    "a failed call with text": (
        AssistantMessage.of("Let me look.", CALL),
        ToolMessage.of("no such city", call=CALL, is_error=True),
        UserMessage.of("and?"),
    ),
    "a result with a picture": (
        AssistantMessage.of(CALL),
        ToolMessage.of("Look:", Image(data=b"\0"), File(data=b"%PDF"), call=CALL),
    ),
    "images": (
        UserMessage.of(
            "What?",
            Image(url="https://x.org"),
            Image(data=b"\0", media_type="image/gif"),
        ),
    ),
    "files": (
        UserMessage.of(
            File(data=b"%PDF", name="a.pdf"),
            File(url="https://x.org"),
            File(data=b"a", media_type="text/csv"),
        ),
    ),
}
SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}}
EFFORTS = [
    each
    for option in get_args(get_type_hints(OutputConfigParam)["effort"])
    for each in get_args(option)
]
OPTIONS: dict[str, ChatOptions] = {
    "none": ChatOptions(),
    "stop": ChatOptions(stop=("a", "b")),
    "no stop": ChatOptions(stop=()),
    "model and limit": ChatOptions(model="other", max_tokens=10),
    "schema": ChatOptions(response_schema=SCHEMA),
    "schema and effort": ChatOptions(response_schema=SCHEMA, reasoning_effort="low"),
    "cache": ChatOptions(extra={"cache_control": {"type": "ephemeral", "ttl": "1h"}}),
    "thinking": ChatOptions(
        extra={"thinking": {"type": "adaptive", "display": "summarized"}}
    ),
    "server tool": ChatOptions(
        extra={"tools": [{"type": "web_search_20250305", "name": "web_search"}]}
    ),
    **{
        f"reasoning {effort}": ChatOptions(reasoning_effort=effort)
        for effort in ("none", "4096", *EFFORTS)
    },
    **{
        f"choice {choice}": ChatOptions(
            tool_choice=choice, parallel_tool_calls=parallel
        )
        for choice in ("auto", "none", "required", "weather")
        for parallel in (None, False)
    },
    "one call at a time": ChatOptions(parallel_tool_calls=False),
}


@by_stream
@pytest.mark.parametrize("messages", HISTORIES.values(), ids=HISTORIES)
def test_every_kind_of_message_is_allowed(
    messages: tuple[Message, ...], stream: bool
) -> None:
    assert_allowed(ChatRequest(messages=messages), stream=stream)


@by_stream
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_option_is_allowed(options: ChatOptions, stream: bool) -> None:
    request = ChatRequest(
        messages=(UserMessage.of("hi"),), tools=(weather,), options=options
    )
    assert_allowed(request, stream=stream)


def test_the_types_know_the_version_without_sampling_alone() -> None:
    """They are those of 2026-10-21: with it, we refuse what they do not know."""
    options = ChatOptions(temperature=0.5, top_p=0.5)
    request = ChatRequest(messages=(UserMessage.of("hi"),), options=options)
    body = body_of(request, stream=True)

    known = known_part(body, stream=True)
    assert body == {**known, "temperature": 0.5, "top_p": 0.5}


@by_stream
def test_a_body_that_is_not_allowed_would_be_seen(stream: bool) -> None:
    good = body_of(ChatRequest(messages=HISTORIES["text"]), stream=stream)

    assert known_part(good | {"unknown": 1}, stream=stream) != good | {"unknown": 1}
    wrong: list[Json] = [{"stream": "yes"}, {"messages": [{"role": "user"}]}]
    for member in wrong:
        with pytest.raises(ValidationError):
            known_part(good | member, stream=stream)


TEXTS = st.text(max_size=5)
PARTS = st.one_of(
    TEXTS,
    st.builds(Reasoning, text=TEXTS, signature=TEXTS, dialect=st.just("anthropic")),
    st.builds(Call, id=TEXTS, name=TEXTS, arguments=TEXTS),
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """A history that a model takes: each call has one result."""
    messages: list[Message] = [UserMessage.of("hi")]
    for _ in range(draw(st.integers(0, 4))):
        answer = AssistantMessage.of(*draw(st.lists(PARTS, max_size=4)))
        results = [
            ToolMessage.of(draw(TEXTS), call=call, is_error=draw(st.booleans()))
            for call in answer.tool_calls
        ]
        messages += [answer, *results, UserMessage.of(draw(TEXTS))]
    return tuple(messages)


@settings(max_examples=60)
@given(histories(), st.booleans())
def test_any_history_is_allowed(messages: tuple[Message, ...], stream: bool) -> None:
    assert_allowed(ChatRequest(messages=messages), stream=stream)
