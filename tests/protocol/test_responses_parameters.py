"""Each Responses body that we send is one that the types of the official SDK allow."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, TypeAlias, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from openai.types.shared import ReasoningEffort
from pydantic import TypeAdapter, ValidationError

from rxagent.messages import (
    Audio,
    File,
    Image,
    Message,
    ToolMessage,
    UserMessage,
)
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.wire import OpenAIResponsesDialect
from tests.protocol.test_request_parameters import (
    HISTORIES,
    REQUESTS,
    SCHEMA,
    no_description,
    read_all,
    weather,
)
from tests.wire.openai_responses.decoding import decode
from tests.wire.openai_responses.streams import (
    ANSWERS,
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

STREAMED = TypeAdapter[Any](ResponseCreateParamsStreaming)
WHOLE = TypeAdapter[Any](ResponseCreateParamsNonStreaming)

by_stream = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


def known_part(body: Json, *, stream: bool) -> Json:
    """What the SDK's types know of ``body``.

    Raises:
        ValidationError: If it has a value that they do not allow, or lacks one.
    """
    adapter = STREAMED if stream else WHOLE
    known: Json = read_all(adapter.validate_python(body, strict=True))
    return known


def body_of(request: ChatRequest, *, stream: bool) -> Json:
    encoded = OpenAIResponsesDialect().encode(request, model="m", stream=stream)
    body: Json = json.loads(encoded)
    return body


def assert_allowed(request: ChatRequest, *, stream: bool) -> None:
    body = body_of(request, stream=stream)
    assert known_part(body, stream=stream) == body


def without_audio(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages, without the sounds that the API does not take."""
    return tuple(
        replace(
            each,
            content=tuple(part for part in each.content if not isinstance(part, Audio)),
        )
        if isinstance(each, UserMessage | ToolMessage)
        else each
        for each in messages
    )


def answered(*items: Item) -> tuple[Message, ...]:
    """A history in which a model has said ``items``, with results for its calls."""
    said = decode(sse(events_of(*items))).response.message
    results = [ToolMessage.of("ok", call=call) for call in said.tool_calls]
    return (UserMessage.of("hi"), said, *results, UserMessage.of("go on"))


HISTORIES_OF_ITS_OWN: dict[str, tuple[Message, ...]] = {
    **HISTORIES,
    "reasoning and a call": answered(reasoning(["hm"]), called("weather", "{}")),
    "reasoning and an answer": answered(reasoning(), message(["a"], ["b"])),
    "reasoning and a refusal": answered(reasoning(), refused("no")),
    "a phase": answered(message(["a"], phase="commentary"), called("weather", "{}")),
    "an item of the provider's": answered(other(), message(["a"])),
    "a result in parts": (
        answered(called("weather", "{}"))[1],
        ToolMessage(
            content=(Image(data=b"\0"), File(url="http://x/a.pdf")),
            tool_call_id="call_1",
            name="weather",
        ),
    ),
}
OPTIONS: dict[str, ChatOptions] = {
    "none": ChatOptions(),
    "sampling": ChatOptions(temperature=0, top_p=0.5, max_tokens=16),
    "model": ChatOptions(model="other"),
    "schema": ChatOptions(response_schema=SCHEMA),
    "extra": ChatOptions(
        reasoning_effort="low",
        response_schema=SCHEMA,
        extra={
            "include": ["file_search_call.results"],
            "metadata": {"k": "v"},
            "reasoning": {"summary": "auto"},
            "store": True,
            "text": {"verbosity": "low"},
            "tools": [{"type": "web_search"}],
        },
    ),
    **{
        f"reasoning {effort}": ChatOptions(reasoning_effort=effort)
        for each in get_args(ReasoningEffort)
        for effort in get_args(each)
    },
    **{
        f"choice {choice}": ChatOptions(tool_choice=choice)
        for choice in ("auto", "none", "required", "weather")
    },
    "one call at a time": ChatOptions(parallel_tool_calls=False),
}


@by_stream
@pytest.mark.parametrize(
    "messages", HISTORIES_OF_ITS_OWN.values(), ids=HISTORIES_OF_ITS_OWN
)
def test_every_kind_of_message_is_allowed(
    messages: tuple[Message, ...], stream: bool
) -> None:
    assert_allowed(ChatRequest(messages=without_audio(messages)), stream=stream)


@by_stream
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_option_is_allowed(options: ChatOptions, stream: bool) -> None:
    request = ChatRequest(
        messages=(UserMessage.of("hi"),),
        tools=(weather, no_description),
        options=options,
    )
    assert_allowed(request, stream=stream)


@by_stream
def test_a_body_that_is_not_allowed_would_be_seen(stream: bool) -> None:
    good = body_of(ChatRequest(messages=HISTORIES["a call"]), stream=stream)

    for unknown in ({"unknown": 1}, {"stop": ["a"]}, {"seed": 1}):
        assert known_part(good | unknown, stream=stream) != good | unknown
    wrong: list[Json] = [{"stream": "yes"}, {"input": [{"role": "user"}]}]
    for member in wrong:
        with pytest.raises(ValidationError):
            known_part(good | member, stream=stream)


@settings(max_examples=60)
@given(ANSWERS, st.booleans())
def test_any_answer_may_go_back(items: tuple[Item, ...], stream: bool) -> None:
    assert_allowed(ChatRequest(messages=answered(*items)), stream=stream)


@settings(max_examples=60)
@given(REQUESTS, st.booleans())
def test_any_request_is_allowed(request: ChatRequest, stream: bool) -> None:
    options = replace(request.options, stop=None, seed=None)
    messages = without_audio(request.messages)
    assert_allowed(replace(request, messages=messages, options=options), stream=stream)
