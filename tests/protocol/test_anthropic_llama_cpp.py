"""AnthropicChat against llama.cpp's own server, which speaks Messages too."""

from __future__ import annotations

from dataclasses import replace

import anthropic
import pytest

from rxagent import tool
from rxagent.errors import BadRequestError, ContextLengthError, ModelNotFoundError
from rxagent.messages import (
    AssistantMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.models import AnthropicChat
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest
from tests.protocol import llama_cpp
from tests.protocol.asking import ask, request_of

TOKENS = 8
# So that an answer is the same each time, and ends where it should.
OPTIONS = ChatOptions(
    temperature=0, max_tokens=TOKENS, extra={"seed": 1, "cache_prompt": False}
)
BRIEF = ChatOptions(max_tokens=1)

by_stream = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


@pytest.fixture
def model(base_url: str) -> AnthropicChat:
    return AnthropicChat(
        model="smollm2",
        base_url=base_url,
        api_key="k",
        timeouts=Timeouts(gap_s=60.0),
        retry=RetryPolicy(max_retries=0),
    )


def request(text: str, options: ChatOptions | None = None) -> ChatRequest:
    return request_of(text, options=OPTIONS.merged(options or ChatOptions()))


def test_an_answer_streams_token_by_token_with_its_usage(model: AnthropicChat) -> None:
    [heard] = ask(model, request("Tell a long story."))

    response = heard.response
    assert heard.text == response.text != ""
    assert TOKENS / 2 <= len(heard.events) - 1 <= TOKENS
    assert response.finish_reason == "length"
    assert response.finish_reason_raw == "max_tokens"
    assert response.id
    assert response.model
    assert response.usage.output_tokens == TOKENS
    assert response.usage.prompt_tokens is not None
    assert response.usage.prompt_tokens > 10
    assert response.usage.sure


def test_a_whole_answer_says_what_a_streamed_one_says(model: AnthropicChat) -> None:
    """Law 3."""
    streamed, whole = ask(
        model, request("Hi!"), request("Hi!", ChatOptions(stream=False))
    )

    assert whole.response.message == streamed.response.message
    usage, other = whole.response.usage, streamed.response.usage
    assert usage.prompt_tokens == other.prompt_tokens  # more of it was cached by then
    assert usage.output_tokens == other.output_tokens
    assert whole.response.finish_reason == streamed.response.finish_reason
    assert len(whole.events) == 2 < len(streamed.events)


def test_the_official_sdk_reads_what_we_read(
    model: AnthropicChat, base_url: str
) -> None:
    [ours] = ask(model, request("Hi!"))

    with (
        anthropic.Anthropic(base_url=base_url, api_key="k", max_retries=0) as sdk,
        sdk.messages.stream(
            model="smollm2",
            messages=[{"role": "user", "content": "Hi!"}],
            max_tokens=TOKENS,
            extra_body={"temperature": 0, "seed": 1, "cache_prompt": False},
        ) as stream,
    ):
        theirs = stream.get_final_message()

    [block] = theirs.content
    assert block.type == "text"
    assert block.text == ours.text
    assert theirs.stop_reason == ours.response.finish_reason_raw
    assert theirs.usage.input_tokens == ours.response.usage.input_tokens
    assert theirs.usage.output_tokens == ours.response.usage.output_tokens


def test_instructions_are_read(model: AnthropicChat) -> None:
    asked = request("Hi!", BRIEF)
    instructed = (SystemMessage.of("Be very brief, whatever you say."), *asked.messages)

    short, long = ask(model, asked, replace(asked, messages=instructed))

    # The template has instructions of its own, which those replace.
    counts = [each.response.usage.prompt_tokens for each in (short, long)]
    assert None not in counts
    assert counts[0] != counts[1]


def test_a_stop_text_ends_the_answer_and_is_not_in_it(model: AnthropicChat) -> None:
    [heard] = ask(model, request("Tell a long story.", ChatOptions(stop=(" ",))))

    assert heard.response.text
    assert " " not in heard.text
    assert heard.response.finish_reason == "stop"


@tool
def weather(city: str) -> str:
    """Get the weather of a city."""
    return f"rain in {city}"


@by_stream
def test_a_history_with_calls_and_results_is_taken(
    model: AnthropicChat, stream: bool
) -> None:
    call = ToolCall(id="call_1", name="weather", arguments='{"city": "Oslo"}')
    asked = ChatRequest(
        messages=(
            UserMessage.of("What is the weather in Oslo?"),
            AssistantMessage.of(call),
            ToolMessage.of("rain in Oslo", call=call),
        ),
        tools=(weather,),
        options=OPTIONS.merged(ChatOptions(stream=stream)),
    )

    [heard] = ask(model, asked)

    assert heard.response.usage.output_tokens


@by_stream
def test_a_prompt_that_is_too_long_is_its_own_error(
    model: AnthropicChat, stream: bool
) -> None:
    options = ChatOptions(stream=stream)
    too_long = request("word " * 2 * llama_cpp.CONTEXT_TOKENS, options)

    long, short = ask(model, too_long, request("Hi!", BRIEF))

    error = long.model_error
    assert type(error) is ContextLengthError
    assert (error.status, error.retryable, error.delivered) == (400, False, False)
    assert short.response.text


@by_stream
def test_a_bad_body_is_an_error_with_the_words_of_the_server(
    model: AnthropicChat, stream: bool
) -> None:
    bad = request("Hi!", ChatOptions(stream=stream, extra={"temperature": "hot"}))

    refused, answered = ask(model, bad, request("Hi!", BRIEF))

    assert type(refused.error) is BadRequestError
    assert "'temperature'" in str(refused.error)
    assert answered.response.text


def test_an_address_that_is_not_there_is_its_own_error(base_url: str) -> None:
    model = AnthropicChat(model="smollm2", base_url=f"{base_url}/v2", api_key="k")

    [heard] = ask(model, request("Hi!"))

    assert type(heard.error) is ModelNotFoundError
