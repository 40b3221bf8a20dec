"""Each body that we send is one that the types of the official SDK allow."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeAlias, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from openai.types.shared import ReasoningEffort
from pydantic import TypeAdapter, ValidationError

from rxagent import tool
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
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.wire import OpenAIChatDialect
from tests.test_history import MESSAGES, TEXTS

Json: TypeAlias = dict[str, Any]

STREAMED = TypeAdapter[Any](CompletionCreateParamsStreaming)
WHOLE = TypeAdapter[Any](CompletionCreateParamsNonStreaming)
SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}}

by_stream = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


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


def body_of(
    request: ChatRequest, *, stream: bool, dialect: OpenAIChatDialect | None = None
) -> Json:
    encoded = (dialect or OpenAIChatDialect()).encode(request, model="m", stream=stream)
    body: Json = json.loads(encoded)
    return body


def assert_allowed(request: ChatRequest, *, stream: bool) -> None:
    body = body_of(request, stream=stream)
    assert known_part(body, stream=stream) == body


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
    "instructions in two places": (
        SystemMessage.of("Be brief."),
        UserMessage.of("hi"),
        SystemMessage.of("Be kind."),
    ),
    "an answer": (UserMessage.of("hi"), AssistantMessage.of("ho"), UserMessage.of("!")),
    "an answer in parts": (AssistantMessage.of("a", Reasoning(text="r"), "b"),),
    "a refusal": (AssistantMessage.of(Refusal(text="no")), UserMessage.of("but")),
    "a call": (AssistantMessage.of(CALL), ToolMessage.of("rain", call=CALL)),
    "a call with text": (
        AssistantMessage.of("Let me look.", CALL),
        ToolMessage.of("rain", call=CALL),
    ),
    "a failed call": (
        AssistantMessage.of(CALL),
        ToolMessage.of("no such city", call=CALL, is_error=True),
    ),
    "two calls": (
        AssistantMessage.of(CALL, replace(CALL, id="call_2")),
        ToolMessage.of("rain", call=replace(CALL, id="call_2")),
        ToolMessage.of("sun", call=CALL),
    ),
    "a call that no server takes": (
        AssistantMessage.of(ToolCall(id="x", name="get weather!", arguments='{"a')),
        ToolMessage.of("", call=ToolCall(id="x", name="get weather!")),
    ),
    "an image by its address": (UserMessage.of("What?", Image(url="https://x.org")),),
    "an image": (UserMessage.of(Image(data=b"\0", media_type="image/webp")),),
    "sounds": (
        UserMessage.of(
            Audio(data=b"\0"), Audio(data=b"\0", media_type="audio/mpeg"), "?"
        ),
    ),
    "a file": (UserMessage.of(File(data=b"%PDF", name="a.pdf"), "Sum it up."),),
    "a part of this dialect": (
        AssistantMessage.of(
            "a", Opaque(dialect="openai", data='{"type":"refusal","refusal":"b"}')
        ),
    ),
    "a part of another dialect": (
        AssistantMessage.of("a", Opaque(dialect="other", data="{")),
    ),
}
OPTIONS: dict[str, ChatOptions] = {
    "none": ChatOptions(),
    "sampling": ChatOptions(temperature=0, top_p=0.5, seed=1, max_tokens=10),
    "stop": ChatOptions(stop=("a", "b")),
    "no stop": ChatOptions(stop=()),
    "model": ChatOptions(model="other"),
    "schema": ChatOptions(response_schema=SCHEMA),
    "titled schema": ChatOptions(response_schema={**SCHEMA, "title": "Wetter, heute"}),
    "extra": ChatOptions(extra={"user": "u", "metadata": {"k": "v"}, "n": 1}),
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
@pytest.mark.parametrize("messages", HISTORIES.values(), ids=HISTORIES)
def test_every_kind_of_message_is_allowed(
    messages: tuple[Message, ...], stream: bool
) -> None:
    assert_allowed(ChatRequest(messages=messages), stream=stream)


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

    unknown: list[Json] = [{"unknown": 1}, {"stream_options": {"include": True}}]
    for member in unknown:
        body = good | member
        assert known_part(body, stream=stream) != body
    wrong: list[Json] = [{"stream": "yes"}, {"messages": [{"role": "user"}]}]
    for member in wrong:
        with pytest.raises(ValidationError):
            known_part(good | member, stream=stream)


def test_reasoning_goes_back_under_a_name_that_only_other_servers_know() -> None:
    """So it does not go to OpenAI, unless one asks for it."""
    thought = AssistantMessage.of(Reasoning(text="hm"), "42")
    request = ChatRequest(messages=(thought, UserMessage.of("why?")))
    assert_allowed(request, stream=True)

    dialect = OpenAIChatDialect(send_reasoning="always")
    body = body_of(request, stream=True, dialect=dialect)

    known = known_part(body, stream=True)
    known["messages"][0]["reasoning_content"] = "hm"
    assert known == body


def answered(messages: Iterable[Message]) -> tuple[Message, ...]:
    """A history that a model takes, of any messages: each call has one result."""
    history: list[Message] = []
    for message in messages:
        match message:
            case ToolMessage():
                continue
            case UserMessage():
                parts = (
                    replace(each, media_type="audio/wav")
                    if isinstance(each, Audio)
                    else each
                    for each in message.content
                )
                history.append(replace(message, content=tuple(parts)))
            case _:
                history.append(message)
        if isinstance(message, AssistantMessage):
            results = (
                ToolMessage.of(call.name, call=call) for call in message.tool_calls
            )
            history += reversed([*results])
    return (*history, UserMessage.of("go on"))


_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _NUMBERS | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=5,
)
_SCHEMAS = st.dictionaries(TEXTS, _JSON)
_TOOLS = st.lists(
    st.builds(
        ToolSpec,
        name=st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True),
        description=TEXTS,
        parameters=_SCHEMAS,
    ),
    unique_by=lambda spec: spec.name,
    max_size=4,
).map(tuple)


@st.composite
def _requests(draw: st.DrawFn) -> ChatRequest:
    tools = draw(_TOOLS)
    choices = ["auto", "none", *(["required"] if tools else ())]
    choices += [spec.name for spec in tools]
    options = st.builds(
        ChatOptions,
        model=st.none() | TEXTS.filter(bool),
        temperature=st.none() | _NUMBERS,
        top_p=st.none() | _NUMBERS,
        max_tokens=st.none() | st.integers(),
        stop=st.none() | st.lists(TEXTS).map(tuple),
        seed=st.none() | st.integers(),
        tool_choice=st.none() | st.sampled_from(choices),
        parallel_tool_calls=st.none() | st.booleans(),
        response_schema=st.none() | _SCHEMAS,
        reasoning_effort=st.sampled_from([None, "low", "high"]),
    )
    history = answered(draw(st.lists(MESSAGES, max_size=6)))
    return ChatRequest(messages=history, tools=tools, options=draw(options))


REQUESTS = _requests()
"""Any request with any history that a model takes."""


@settings(max_examples=60)
@given(REQUESTS, st.booleans())
def test_any_request_is_allowed(request: ChatRequest, stream: bool) -> None:
    assert_allowed(request, stream=stream)


@given(st.lists(st.builds(Text, text=TEXTS)).map(tuple), st.booleans())
def test_any_instructions_are_allowed(parts: tuple[Text, ...], stream: bool) -> None:
    request = ChatRequest(messages=(SystemMessage(content=parts), UserMessage.of("hi")))
    assert_allowed(request, stream=stream)
