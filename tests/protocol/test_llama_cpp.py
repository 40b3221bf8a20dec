"""OpenAIChat against llama.cpp's own server: a real model, but a small one.

What is asserted is the protocol and what a grammar enforces, never what it knows.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import Any

import httpx
import jsonschema
import openai
import pytest
from pydantic_core import from_json

from rxagent import Agent, tool
from rxagent.advisors import schema_tools, tool_loop
from rxagent.errors import (
    BadRequestError,
    ContextLengthError,
    ModelError,
    ModelNotFoundError,
    ServerError,
)
from rxagent.events import TextDelta
from rxagent.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from rxagent.models import OpenAIChat
from rxagent.operators import just
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.runtime import Flow, iterate
from tests.protocol import llama_cpp
from tests.protocol.asking import ask, hear, hear_in_turn, request_of

TOKENS = 8
# So that an answer is the same each time, and ends where it should.
OPTIONS = ChatOptions(
    temperature=0, seed=1, max_tokens=TOKENS, extra={"cache_prompt": False}
)
ENDLESS = ChatOptions(temperature=0, max_tokens=400, extra={"ignore_eos": True})
BRIEF = ChatOptions(max_tokens=1)

by_stream = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@pytest.fixture
def model(base_url: str) -> OpenAIChat:
    return OpenAIChat(
        model="smollm2",
        base_url=f"{base_url}/v1",
        api_key="k",
        timeouts=Timeouts(gap_s=60.0),
        retry=RetryPolicy(max_retries=0),
    )


def request(text: str, options: ChatOptions | None = None) -> ChatRequest:
    return request_of(text, options=OPTIONS.merged(options or ChatOptions()))


def test_an_answer_streams_token_by_token_with_its_usage(model: OpenAIChat) -> None:
    [heard] = ask(model, request("Tell a long story.", ENDLESS.merged(OPTIONS)))

    response = heard.response
    assert heard.text == response.text != ""
    assert TOKENS / 2 <= len(heard.events) - 1 <= TOKENS
    assert response.finish_reason == response.finish_reason_raw == "length"
    assert response.model
    assert (response.id or "").startswith("chatcmpl-")
    usage = response.usage
    assert usage.output_tokens == TOKENS
    assert usage.prompt_tokens is not None
    assert usage.prompt_tokens > 10
    assert usage.total_tokens == usage.prompt_tokens + TOKENS
    assert usage.sure


def test_without_include_usage_the_tokens_are_unknown(model: OpenAIChat) -> None:
    options = ChatOptions(extra={"stream_options": {"include_usage": False}})

    [heard] = ask(model, request("Hi!", options))

    assert heard.response.text
    assert heard.response.usage.output_tokens is None
    assert not heard.response.usage.sure


def test_a_whole_answer_says_what_a_streamed_one_says(model: OpenAIChat) -> None:
    """Law 3."""
    streamed, whole = ask(
        model, request("Hi!"), request("Hi!", ChatOptions(stream=False))
    )

    assert whole.response.message == streamed.response.message
    assert whole.response.usage == streamed.response.usage
    assert whole.response.finish_reason == streamed.response.finish_reason
    assert len(whole.events) == 2 < len(streamed.events)


def test_the_official_sdk_reads_what_we_read(model: OpenAIChat, base_url: str) -> None:
    [ours] = ask(model, request("Hi!"))

    with (
        openai.OpenAI(base_url=f"{base_url}/v1", api_key="k", max_retries=0) as sdk,
        sdk.chat.completions.stream(
            model="smollm2",
            messages=[{"role": "user", "content": "Hi!"}],
            temperature=0,
            seed=1,
            max_tokens=TOKENS,
            stream_options={"include_usage": True},
            extra_body={"cache_prompt": False},
        ) as stream,
    ):
        stream.until_done()
        theirs = stream.current_completion_snapshot

    [choice] = theirs.choices
    assert choice.message.content == ours.text
    assert choice.finish_reason == ours.response.finish_reason_raw
    assert theirs.usage is not None
    assert theirs.usage.prompt_tokens == ours.response.usage.prompt_tokens
    assert theirs.usage.completion_tokens == ours.response.usage.output_tokens


def test_a_stop_text_ends_the_answer_and_is_not_in_it(model: OpenAIChat) -> None:
    [heard] = ask(model, request("Tell a long story.", ChatOptions(stop=(" ",))))

    assert heard.response.text
    assert " " not in heard.text
    assert heard.response.finish_reason == "stop"


FILM = {
    "title": "A film",
    "type": "object",
    "properties": {
        "genre": {"enum": ["drama", "comedy"]},
        "oscars": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
    },
    "required": ["genre", "oscars"],
    "additionalProperties": False,
}


@by_stream
def test_an_answer_meets_the_schema(model: OpenAIChat, stream: bool) -> None:
    options = ChatOptions(response_schema=FILM, max_tokens=100, stream=stream)

    [heard] = ask(model, request("A film.", options))

    assert heard.response.finish_reason == "stop"
    jsonschema.validate(from_json(heard.text), FILM)


@by_stream
def test_a_prompt_that_is_too_long_is_its_own_error(
    model: OpenAIChat, stream: bool
) -> None:
    options = ChatOptions(stream=stream)
    too_long = request("word " * 2 * llama_cpp.CONTEXT_TOKENS, options)

    long, short = ask(model, too_long, request("Hi!", BRIEF))

    error = long.model_error
    assert type(error) is ContextLengthError
    assert (error.status, error.retryable, error.delivered) == (400, False, False)
    assert str(llama_cpp.CONTEXT_TOKENS) in str(error)
    assert short.response.text


@by_stream
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"temperature": "hot"}, BadRequestError),
        ({"n": 0}, BadRequestError),
        ({"response_format": {"type": "nonsense"}}, BadRequestError),
        ({"tools": [3]}, ServerError),  # it says that it is its own fault
    ],
    ids=["temperature", "n", "response_format", "tools"],
)
def test_a_bad_body_is_an_error_with_the_words_of_the_server(
    model: OpenAIChat, body: dict[str, object], kind: type[ModelError], stream: bool
) -> None:
    bad = request("Hi!", ChatOptions(stream=stream, extra=body))

    refused, answered = ask(model, bad, request("Hi!", BRIEF))

    assert type(refused.error) is kind
    [member] = body
    assert member in str(refused.error) or "nonsense" in str(refused.error)
    assert answered.response.text


def test_an_address_that_is_not_there_is_its_own_error(base_url: str) -> None:
    model = OpenAIChat(model="smollm2", base_url=f"{base_url}/v2", api_key="k")

    [heard] = ask(model, request("Hi!"))

    assert type(heard.error) is ModelNotFoundError
    assert "File Not Found" in str(heard.error)


def test_answers_come_side_by_side_and_a_reader_who_leaves_frees_the_slot(
    model: OpenAIChat, base_url: str
) -> None:
    """Laws 5 and 7."""

    async def scene() -> None:
        endless = Flow.of(just(request("Tell a long story.", ENDLESS)).pipe(model))
        async with httpx.AsyncClient(base_url=base_url) as client:
            async with aclosing(iterate(endless)) as events:
                first = await anext(events)
                [other] = await hear_in_turn(model, request("Hi!"))
                assert await running(client) == [True]
            assert isinstance(first, TextDelta)
            assert other.response.text == other.text != ""
            left = time.monotonic()
            while await running(client):
                assert time.monotonic() < left + 5, "it computes for nobody"
            assert await cut_short(client) == [True, False]
        [heard] = await hear_in_turn(model, request("Hi!", BRIEF))
        assert heard.response.text

    asyncio.run(scene())


async def running(client: httpx.AsyncClient) -> list[bool]:
    """One True for each answer that is being written."""
    return [True for slot in await slots_of(client) if slot["is_processing"]]


async def cut_short(client: httpx.AsyncClient) -> list[bool]:
    """For the last answer of each slot, oldest first: whether more was to come."""
    slots = sorted(await slots_of(client), key=lambda slot: int(slot["id_task"]))
    return [slot["next_token"][0]["has_next_token"] for slot in slots]


async def slots_of(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    slots: list[dict[str, Any]] = (await client.get("/slots")).json()
    assert len(slots) == llama_cpp.SLOTS
    return slots


@tool
def weather(city: str) -> str:
    """Get the weather of a city."""
    return f"rain in {city}"


def test_a_history_with_calls_and_results_is_taken(model: OpenAIChat) -> None:
    call = ToolCall(id="call_1", name="weather", arguments='{"city": "Oslo"}')
    asked = ChatRequest(
        messages=(
            UserMessage.of("What is the weather in Oslo?"),
            AssistantMessage.of(call),
            ToolMessage.of("rain in Oslo", call=call),
        ),
        tools=(weather,),
        options=OPTIONS,
    )

    [heard] = ask(model, asked)

    assert heard.response.usage.output_tokens


@by_stream
def test_a_tool_loop_runs_on_calls_that_a_schema_enforces(
    model: OpenAIChat, stream: bool
) -> None:
    """Its own template has no tools, so that is what a small model can do."""
    agent = Agent(
        model,
        tools=[weather],
        advisors=[tool_loop(), schema_tools()],
        options=ChatOptions(tool_choice="weather", max_tokens=TOKENS, stream=stream),
    )

    heard = asyncio.run(hear(agent.stream("What is the weather in Oslo?")))

    response = heard.response
    asked, result, answer = response.transcript
    assert isinstance(asked, AssistantMessage)
    assert isinstance(result, ToolMessage)
    [call] = asked.tool_calls
    arguments = from_json(call.arguments)
    jsonschema.validate(arguments, dict(weather.parameters))
    assert result.text == weather(**arguments)
    assert answer.text == response.text != ""
    assert response.usage.requests == 2
