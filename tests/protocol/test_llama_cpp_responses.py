"""OpenAIResponses against llama.cpp's own server, which speaks that format its way.

Its events say no place, and its answers are never incomplete.
"""

from __future__ import annotations

import jsonschema
import openai
import pytest
from pydantic_core import from_json

from rxagent import tool
from rxagent.errors import BadRequestError, ContextLengthError, ModelNotFoundError
from rxagent.messages import (
    AssistantMessage,
    Opaque,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.models import OpenAIResponses
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest
from tests.protocol import llama_cpp
from tests.protocol.asking import ask, request_of

TOKENS = 8
# So that an answer is the same each time.
OPTIONS = ChatOptions(
    temperature=0, max_tokens=TOKENS, extra={"cache_prompt": False, "seed": 1}
)

by_stream = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@pytest.fixture
def model(base_url: str) -> OpenAIResponses:
    return OpenAIResponses(
        model="smollm2",
        base_url=f"{base_url}/v1",
        api_key="k",
        timeouts=Timeouts(gap_s=60.0),
        retry=RetryPolicy(max_retries=0),
    )


def request(text: str, options: ChatOptions | None = None) -> ChatRequest:
    return request_of(text, options=OPTIONS.merged(options or ChatOptions()))


def test_an_answer_streams_token_by_token_with_its_usage(
    model: OpenAIResponses,
) -> None:
    [heard] = ask(model, request("Tell a long story."))

    response = heard.response
    assert heard.text == response.text != ""
    assert TOKENS / 2 <= len(heard.events) - 1 <= TOKENS
    assert response.finish_reason_raw == "completed"
    assert response.message == AssistantMessage.of(heard.text)
    assert response.model
    assert (response.id or "").startswith("resp_")
    usage = response.usage
    assert usage.output_tokens == TOKENS
    assert usage.prompt_tokens is not None
    assert usage.total_tokens == usage.prompt_tokens + TOKENS
    assert usage.sure


def test_a_whole_answer_says_what_a_streamed_one_says(model: OpenAIResponses) -> None:
    """Law 3."""
    streamed, whole = ask(
        model, request("Hi!"), request("Hi!", ChatOptions(stream=False))
    )

    assert whole.response.message == streamed.response.message
    assert whole.response.usage == streamed.response.usage
    assert whole.response.finish_reason == streamed.response.finish_reason
    assert len(whole.events) == 2 < len(streamed.events)


def test_the_official_sdk_reads_what_we_read(
    model: OpenAIResponses, base_url: str
) -> None:
    [ours] = ask(model, request("Hi!"))

    with openai.OpenAI(base_url=f"{base_url}/v1", api_key="k", max_retries=0) as sdk:
        theirs = sdk.responses.create(
            model="smollm2",
            input="Hi!",
            temperature=0,
            max_output_tokens=TOKENS,
            extra_body={"cache_prompt": False, "seed": 1},
        )

    assert theirs.output_text == ours.text
    assert theirs.usage is not None
    assert theirs.usage.input_tokens == ours.response.usage.prompt_tokens
    assert theirs.usage.output_tokens == ours.response.usage.output_tokens


@by_stream
def test_an_answer_meets_the_schema(model: OpenAIResponses, stream: bool) -> None:
    """Through an option of that server: it does not look at text.format."""
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"genre": {"enum": ["drama", "comedy"]}},
        "required": ["genre"],
        "additionalProperties": False,
    }
    options = ChatOptions(max_tokens=100, stream=stream, extra={"json_schema": schema})

    [heard] = ask(model, request("A film.", options))

    jsonschema.validate(from_json(heard.text), schema)


@by_stream
def test_a_prompt_that_is_too_long_is_its_own_error(
    model: OpenAIResponses, stream: bool
) -> None:
    options = ChatOptions(stream=stream)

    long, short = ask(
        model,
        request("word " * 2 * llama_cpp.CONTEXT_TOKENS, options),
        request("Hi!", options),
    )

    assert type(long.error) is ContextLengthError
    assert short.response.text


def test_what_it_does_not_take_is_an_error_with_its_words(
    model: OpenAIResponses, base_url: str
) -> None:
    stored = ChatOptions(extra={"previous_response_id": "resp_1"})
    elsewhere = OpenAIResponses(model="m", base_url=f"{base_url}/v2", api_key="k")

    [refused], [lost] = (
        ask(model, request("Hi!", stored)),
        ask(elsewhere, request("Hi")),
    )

    assert type(refused.error) is BadRequestError
    assert "previous_response_id" in str(refused.error)
    assert type(lost.error) is ModelNotFoundError


@tool
def weather(city: str) -> str:
    """Get the weather of a city."""
    return f"rain in {city}"


def test_a_history_with_everything_that_it_can_say_is_taken(
    model: OpenAIResponses, base_url: str
) -> None:
    call = ToolCall(id="call_1", name="weather", arguments='{"city": "Oslo"}')
    thought = (
        '{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"",'
        '"content":[{"type":"reasoning_text","text":"hm"}],"status":"completed"}'
    )
    frame = '{"id":"msg_1","type":"message","role":"assistant","status":"completed"}'
    named = f"{base_url.split('/')[2]} responses"
    asked = ChatRequest(
        messages=(
            SystemMessage.of("Be brief."),
            UserMessage.of("What is the weather in Oslo?"),
            AssistantMessage.of(
                Opaque(dialect=named, data=thought),
                Opaque(dialect=named, data=frame),
                "Let me look.",
                call,
            ),
            ToolMessage.of("rain in Oslo", call=call),
            AssistantMessage.of("It rains."),
            UserMessage.of("Thanks!"),
        ),
        tools=(weather,),
        options=OPTIONS,
    )

    [heard] = ask(model, asked)

    assert heard.response.usage.output_tokens
