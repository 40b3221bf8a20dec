"""The official SDK of Ollama as the judge of what we send and what we read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpx
import ollama
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ollama._client import _parse_host
from ollama._types import ChatRequest as SdkRequest

from rxagent import tool
from rxagent.errors import ModelError
from rxagent.messages import (
    AssistantMessage,
    Image,
    Message,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.models import OllamaChat, OllamaEmbeddings
from rxagent.models._ollama_http import ollama_url
from rxagent.operators import just
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow
from rxagent.wire import OllamaDialect, parse_arguments
from tests.embedders import vector_of
from tests.ollama_answers import (
    Make,
    broken_off,
    called,
    embedded,
    refused,
    said,
    thought,
)
from tests.protocol.asking import request_of
from tests.servers import Answer, ChatServer

Json: TypeAlias = dict[str, Any]

# Newer than the types of the SDK; the server has them.
NEWER = {"id", "index", "tool_call_id"}


@tool
def weather(city: str, days: int = 1) -> str:
    """Get the weather of a city."""
    return f"{city} {days}"


CALL = ToolCall(id="call_1", name="weather", arguments='{"city": "Oslo"}')
PICTURE = Image(data=b"\x89PNG\r\n")
SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}}

ANSWERS: Mapping[str, Make] = {
    "text": said("Grüezi, ", "東京 🚀"),
    "no text": said(),
    "thoughts": thought("hm", ", well", text="Yes."),
    "a call": called(("weather", {"city": "Oslo", "days": 2})),
    "calls": called(("weather", {"city": "Zoë 🚀"}), ("other", {"a": [1, None]})),
    "calls without ids": called(("weather", {}), ("weather", {}), ids=False),
    "text and a call": called(("weather", {"city": "Oslo"}), text="Let me look."),
    "cut off": said("Once upon", done_reason="length"),
}
HISTORIES: Mapping[str, tuple[Message, ...]] = {
    "text": (UserMessage.of("hi"),),
    "instructions": (SystemMessage.of("Be brief."), UserMessage.of("hi")),
    "a picture": (UserMessage.of("What is this?", PICTURE),),
    "an answer": (UserMessage.of("hi"), AssistantMessage.of("ho"), UserMessage.of("!")),
    "thoughts": (
        UserMessage.of("hi"),
        AssistantMessage.of(Reasoning(text="hm"), "ho"),
        UserMessage.of("!"),
    ),
    "a call": (
        UserMessage.of("weather?"),
        AssistantMessage.of("Let me look.", CALL),
        ToolMessage.of("rain", call=CALL),
    ),
    "broken arguments": (
        AssistantMessage.of(ToolCall(id="x", name="f", arguments='{"a":')),
        ToolMessage.of("no", call=ToolCall(id="x", name="f")),
    ),
}
OPTIONS: Mapping[str, ChatOptions] = {
    "none": ChatOptions(),
    "sampling": ChatOptions(
        temperature=0.5, top_p=0.9, max_tokens=7, stop=("a", "b"), seed=1
    ),
    "no thoughts": ChatOptions(reasoning_effort="none"),
    "thoughts": ChatOptions(reasoning_effort="high"),
    "a schema": ChatOptions(response_schema=SCHEMA),
    "more": ChatOptions(
        extra={"keep_alive": "10m", "options": {"num_ctx": 8192}, "think": True}
    ),
}

by_stream = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@dataclass(frozen=True, slots=True)
class Said:
    """What a reader took from an answer."""

    text: str
    thoughts: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    reason: str | None
    tokens: tuple[int | None, int | None]


def said_by_sdk(parts: list[ollama.ChatResponse]) -> Said:
    return Said(
        text="".join(part.message.content or "" for part in parts),
        thoughts="".join(part.message.thinking or "" for part in parts),
        calls=tuple(
            (call.function.name, call.function.arguments)
            for part in parts
            for call in part.message.tool_calls or ()
        ),
        reason=parts[-1].done_reason,
        tokens=(parts[-1].prompt_eval_count, parts[-1].eval_count),
    )


def said_by_us(response: ChatResponse) -> Said:
    return Said(
        text=response.text,
        thoughts=response.reasoning,
        calls=tuple(
            (call.name, parse_arguments(call.arguments)) for call in response.tool_calls
        ),
        reason=response.finish_reason_raw,
        tokens=(response.usage.prompt_tokens, response.usage.output_tokens),
    )


def read_by_sdk(server: ChatServer, *, stream: bool) -> list[ollama.ChatResponse]:
    with ollama.Client(host=server.url) as client:
        messages = [{"role": "user", "content": "hi"}]
        if stream:
            return list(client.chat("m", messages, stream=True))
        return [client.chat("m", messages)]


def model_of(server: ChatServer) -> OllamaChat:
    return OllamaChat(
        model="m",
        base_url=server.url,
        timeouts=Timeouts(gap_s=10.0),
        retry=RetryPolicy(max_retries=0),
    )


@by_stream
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_the_sdk_reads_the_same(answer: Make, stream: bool) -> None:
    request = request_of("hi", options=ChatOptions(stream=stream))
    with ChatServer(answer) as server:
        by_sdk = read_by_sdk(server, stream=stream)
        source = just(request).pipe(model_of(server))
        *_, end = list(Flow[Any].of(source))

    assert said_by_us(end.response) == said_by_sdk(by_sdk)
    assert len({call.id for call in end.response.tool_calls}) == len(
        end.response.tool_calls
    )


@by_stream
@pytest.mark.parametrize(
    "answer",
    [
        refused(404, "model 'm' not found"),
        refused(400, '"m" does not support tools'),
        refused(500, "the runner crashed"),
        broken_off("Yes", message="out of memory"),
    ],
)
def test_the_sdk_fails_where_we_fail(answer: Answer | Make, stream: bool) -> None:
    request = request_of("hi", options=ChatOptions(stream=stream))
    with ChatServer(answer) as server:
        with pytest.raises(ollama.ResponseError) as by_sdk:
            read_by_sdk(server, stream=stream)
        with pytest.raises(ModelError) as by_us:
            list(Flow[Any].of(just(request).pipe(model_of(server))))

    message = by_sdk.value.error
    with suppress(ValueError):
        message = json.loads(message)["error"]
    assert message in str(by_us.value)
    assert by_us.value.status in (by_sdk.value.status_code, None)


def body_of(request: ChatRequest, *, stream: bool = True) -> Json:
    body: Json = json.loads(OllamaDialect().encode(request, model="m", stream=stream))
    return body


def known_part(value: Any) -> Any:
    """``value`` without the members that are newer than the SDK."""
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if name not in NEWER}
        return {name: known_part(each) for name, each in kept.items()}
    if isinstance(value, list):
        return [known_part(each) for each in value]
    return value


def typed_pictures(message: Json) -> Json:
    """The SDK has a type for them, which it writes as we do."""
    pictures = [ollama.Image(value=each) for each in message.get("images", ())]
    return {**message, "images": pictures or None}


@by_stream
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_the_types_of_the_sdk_allow_what_we_send(
    history: tuple[Message, ...], options: ChatOptions, stream: bool
) -> None:
    request = ChatRequest(messages=history, tools=(weather,), options=options)
    body = body_of(request, stream=stream)

    typed = SdkRequest.model_validate(body)

    messages = [ollama.Message(**typed_pictures(each)) for each in body["messages"]]
    known = known_part(body)
    assert [each.model_dump(exclude_none=True) for each in messages] == known[
        "messages"
    ]
    dumped = typed.model_dump(exclude_none=True)
    for name in known.keys() - {"messages", "tools"}:
        assert dumped[name] == known[name]
    [function] = [each["function"] for each in dumped["tools"]]
    assert function["name"] == "weather"
    assert set(function["parameters"]["properties"]) == {"city", "days"}


@by_stream
def test_the_sdk_sends_the_same(stream: bool) -> None:
    history = HISTORIES["a call"]
    request = ChatRequest(
        messages=history,
        options=ChatOptions(
            temperature=0.5, seed=1, reasoning_effort="low", stream=stream
        ),
    )
    with ChatServer(said("ok")) as server:
        list(Flow[Any].of(just(request).pipe(model_of(server))))
        with ollama.Client(host=server.url) as client:
            parts = client.chat(
                "m",
                messages=known_part(body_of(request))["messages"],
                options={"temperature": 0.5, "seed": 1},
                think="low",
                stream=stream,
            )
            list(parts)

    ours, theirs = (dict(asked.body) for asked in server.asked)
    assert theirs.pop("tools") == []
    assert known_part(ours) == theirs


def test_the_sdk_embeds_the_same() -> None:
    texts = ["a", "bb", "Zoë 🚀"]
    with ChatServer(embedded(vector_of)) as server:
        with ollama.Client(host=server.url) as client:
            by_sdk = client.embed("m", texts, dimensions=3)
        embed = OllamaEmbeddings(model="m", base_url=server.url, dimensions=3)
        by_us = Flow[tuple[tuple[float, ...], ...]].of(embed(texts)).run()

    assert by_us == tuple(map(tuple, by_sdk.embeddings))
    theirs, ours = (asked.body for asked in server.asked)
    assert ours == theirs
    assert [asked.path for asked in server.asked] == ["/api/embed"] * 2


@settings(max_examples=60)
@given(
    scheme=st.sampled_from(["", "http://", "https://"]),
    host=st.sampled_from(["1.2.3.4", "example.com", "[::1]", "localhost"]),
    port=st.sampled_from(["", ":1234"]),
    path=st.sampled_from(["", "/", "/x", "/x/y/"]),
)
def test_the_sdk_finds_the_same_address(
    scheme: str, host: str, port: str, path: str
) -> None:
    written = f"{scheme}{host}{port}{path}"

    ours, theirs = httpx.URL(ollama_url(written)), httpx.URL(_parse_host(written))

    default = {"http": 80, "https": 443}[ours.scheme]
    assert (ours.scheme, ours.host) == (theirs.scheme, theirs.host)
    assert (ours.port or default) == (theirs.port or default)
    assert ours.path.rstrip("/") == theirs.path.rstrip("/")
