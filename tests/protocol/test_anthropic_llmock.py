"""AnthropicChat against llmock, a server of other people that speaks Messages."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import jsonschema
import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall
from pydantic_core import from_json

from rxagent import Agent, tool
from rxagent.errors import (
    AuthenticationError,
    BadRequestError,
    ContextLengthError,
    EmptyStreamError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitError,
    ServerError,
    TruncatedStreamError,
)
from rxagent.events import RoundFinished, TextDelta
from rxagent.models import AnthropicChat
from rxagent.operators import just
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.runtime import Flow, iterate
from tests.protocol.asking import Heard, ask, hear, hear_in_turn, request_of

WORDS = ("one ", "two ", "three")
ANSWER = "".join(WORDS)
# llmock streams the start of the message, that of a block, a ping, each word, the end
# of the block, the stop reason, and the end of the message.
PING, FIRST_WORD = 2, 3
STOP_REASON = FIRST_WORD + len(WORDS) + 1
STOP = STOP_REASON + 1
PLACES = range(STOP + 1)

REQUEST = request_of("Count from one to three.")
WHOLE = request_of("Count from one to three.", options=ChatOptions(stream=False))
SHORT_S, LONG_S = 0.4, 10.0  # of silence

STATUSES: dict[int, type[ModelError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    402: BadRequestError,
    403: AuthenticationError,
    404: ModelNotFoundError,
    408: ServerError,
    413: ContextLengthError,
    422: BadRequestError,
    429: RateLimitError,
    500: ServerError,
    503: OverloadedError,
    504: ServerError,
    529: OverloadedError,
}

by_stream = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
by_request = pytest.mark.parametrize(
    "request_", [REQUEST, WHOLE], ids=["streamed", "whole"]
)


def model_at(llmock: LLMock, *, gap_s: float = LONG_S) -> AnthropicChat:
    return AnthropicChat(
        model="claude-opus-4-6",
        base_url=llmock.base_url("anthropic"),
        api_key="k",
        timeouts=Timeouts(gap_s=gap_s),
        retry=RetryPolicy(max_retries=0),
    )


def ask_twice(
    llmock: LLMock, request: ChatRequest = REQUEST, *, gap_s: float = LONG_S
) -> Heard:
    """What the first of two requests came to; the second one, over the same pool,
    gets its answer, and the server has seen these two and no more."""
    llmock.reply(ANSWER, times=None)
    model = model_at(llmock, gap_s=gap_s)
    first, second = ask(model, request, request)
    assert second.response.text == second.text == ANSWER
    assert len(llmock.requests) == 2
    return first


def words_before(place: int) -> str:
    return "".join(WORDS[: max(place - FIRST_WORD, 0)])


def test_an_answer_streams_word_by_word_with_its_usage(llmock: LLMock) -> None:
    llmock.reply("Grüezi, 東京 🚀 and the rest.")

    [heard] = ask(model_at(llmock), REQUEST)

    assert heard.text == heard.response.text == "Grüezi, 東京 🚀 and the rest."
    assert len(heard.events) > 3
    assert heard.response.finish_reason == "stop"
    assert heard.response.finish_reason_raw == "end_turn"
    assert heard.response.model == "claude-opus-4-6"
    assert (heard.response.id or "").startswith("msg_")
    usage = heard.response.usage
    assert usage.input_tokens == len("Count from one to three.") // 4
    assert usage.output_tokens == 6
    assert usage.sure


def test_a_whole_answer_says_the_same(llmock: LLMock) -> None:
    """Law 3, S001-95."""
    llmock.reply(ANSWER, times=2)

    streamed, whole = ask(model_at(llmock), REQUEST, WHOLE)

    assert whole.text == streamed.text == ANSWER
    assert whole.response.message == streamed.response.message
    assert whole.response.usage == streamed.response.usage
    assert whole.response.finish_reason == streamed.response.finish_reason
    assert [record.stream for record in llmock.requests] == [True, False]


def test_the_variables_of_the_official_sdk_find_the_server(llmock: LLMock) -> None:
    llmock.reply(ANSWER)

    [heard] = ask(AnthropicChat(model="claude-opus-4-6"), REQUEST)

    assert heard.text == ANSWER
    assert llmock.last_request.provider == "anthropic"


@by_stream
def test_a_batch_of_calls_and_the_text_beside_them(
    llmock: LLMock, stream: bool
) -> None:
    cities = ("東京", "Zürich", 'Oslo \\ "quoted" 🚀')
    calls = tuple(ToolCall("weather", {"city": city}) for city in cities)
    llmock.add(Reply(text="Let me look. ", tool_calls=calls)).reply("Rain.")

    @tool
    def weather(city: str) -> str:
        """Get the weather of a city."""
        return f"rain in {city}"

    agent = Agent(model_at(llmock), tools=[weather], options=ChatOptions(stream=stream))
    heard = asyncio.run(hear(agent.stream("Where does it rain?")))

    assert heard.text == "Let me look. Rain."
    assert heard.response.text == "Rain."
    assert heard.response.usage.requests == 2
    [interim] = [each for each in heard.events if isinstance(each, RoundFinished)]
    assert interim.response.text == "Let me look. "
    _, asked, answered = llmock.last_request.body["messages"]
    assert asked["role"] == "assistant"
    assert [each["input"] for each in asked["content"][1:]] == [
        {"city": city} for city in cities
    ]
    assert answered["role"] == "user"
    assert [each["tool_use_id"] for each in answered["content"]] == [
        each["id"] for each in asked["content"][1:]
    ]
    assert [each["content"] for each in answered["content"]] == [
        f"rain in {city}" for city in cities
    ]


@by_stream
@pytest.mark.parametrize(
    ("choice", "called"),
    [
        (None, "first"),
        ("auto", "first"),
        ("required", "first"),
        ("second", "second"),
        ("none", None),
    ],
)
def test_each_form_of_tool_choice_is_obeyed(
    llmock: LLMock, choice: str | None, called: str | None, stream: bool
) -> None:
    @tool
    def first() -> str:
        """Do one thing."""
        return ""

    @tool
    def second() -> str:
        """Do another thing."""
        return ""

    options = ChatOptions(tool_choice=choice, stream=stream, parallel_tool_calls=False)
    [heard] = ask(
        model_at(llmock), request_of("Go!", tools=(first, second), options=options)
    )

    names = [call.name for call in heard.response.tool_calls]
    assert names == ([called] if called else [])
    expected = "tool_calls" if called else "stop"
    assert heard.response.finish_reason == expected


def test_an_answer_meets_the_schema_that_was_asked_for(llmock: LLMock) -> None:
    """llmock knows the name that the format had before it was in output_config."""
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "year": {"type": "integer"}},
        "required": ["name", "year"],
    }
    old = {"output_format": {"type": "json_schema", "schema": schema}}
    options = ChatOptions(response_schema=schema, extra=old)

    [heard] = ask(model_at(llmock), request_of("A film.", options=options))

    jsonschema.validate(from_json(heard.response.text), schema)
    sent = llmock.last_request.body["output_config"]["format"]
    assert sent == {
        "type": "json_schema",
        "schema": {**schema, "additionalProperties": False},
    }


def test_a_reader_who_leaves_stops_the_server_and_may_come_back(
    llmock: LLMock,
) -> None:
    """Law 5."""
    words = 500
    llmock.reply("word " * words).reply(ANSWER).pace(10)
    model = model_at(llmock)

    async def scene() -> str:
        flow = Flow.of(just(REQUEST).pipe(model))
        async with aclosing(iterate(flow)) as events:
            first = await anext(events)
        assert isinstance(first, TextDelta)
        [heard] = await hear_in_turn(model, REQUEST)
        return heard.text

    assert asyncio.run(scene()) == ANSWER
    left, stayed = llmock.requests
    assert not left.completed
    assert left.chunks_sent < words / 10
    assert stayed.completed


@by_request
@pytest.mark.parametrize(("status", "kind"), STATUSES.items())
def test_each_status_has_its_class(
    llmock: LLMock, status: int, kind: type[ModelError], request_: ChatRequest
) -> None:
    llmock.fail(status, message="the words of the provider")

    error = ask_twice(llmock, request_).model_error

    assert type(error) is kind
    assert error.status == status
    assert "the words of the provider" in str(error)
    assert error.code is not None
    assert not error.delivered


@by_request
def test_a_rate_limit_says_when_to_come_back(
    llmock: LLMock, request_: ChatRequest
) -> None:
    llmock.rate_limit(retry_after=0.25)

    error = ask_twice(llmock, request_).model_error

    assert type(error) is RateLimitError
    assert error.code == "rate_limit_error"
    assert (error.retryable, error.retry_after_s) == (True, 0.25)


def test_a_prompt_that_is_too_long_is_its_own_error(llmock: LLMock) -> None:
    llmock.limits(context_window=100)

    [heard] = ask(model_at(llmock), request_of("too long " * 100))

    assert type(heard.error) is ContextLengthError
    assert "> 100 maximum" in str(heard.error)


@pytest.mark.parametrize("place", PLACES[: STOP_REASON + 1])
def test_a_truncated_stream_is_an_error_and_never_a_short_answer(
    llmock: LLMock, place: int
) -> None:
    heard = ask_twice(llmock.truncate(after_chunks=place))

    error = heard.model_error
    assert type(error) is (TruncatedStreamError if place else EmptyStreamError)
    assert error.retryable
    assert heard.text == words_before(place)
    assert error.delivered == (heard.text != "")


def test_behind_the_stop_reason_a_stream_may_end(llmock: LLMock) -> None:
    response = ask_twice(llmock.truncate(after_chunks=STOP)).response

    assert (response.text, response.finish_reason) == (ANSWER, "stop")
    assert response.usage.sure


@pytest.mark.parametrize("place", PLACES)
def test_a_lost_connection_is_an_error_wherever_it_is_lost(
    llmock: LLMock, place: int
) -> None:
    heard = ask_twice(llmock.disconnect(after_chunks=place))

    error = heard.model_error
    assert type(error) is ModelConnectionError
    assert error.retryable
    assert heard.text == words_before(place)
    assert error.delivered == (heard.text != "")


@pytest.mark.parametrize("place", sorted({*PLACES} - {PING}))
def test_an_event_that_is_no_json_is_an_error_wherever_it_comes(
    llmock: LLMock, place: int
) -> None:
    heard = ask_twice(llmock.corrupt(after_chunks=place))

    assert type(heard.model_error) is MalformedResponseError
    assert heard.text == words_before(place)


def test_a_ping_may_say_anything(llmock: LLMock) -> None:
    assert ask_twice(llmock.corrupt(after_chunks=PING)).response.text == ANSWER


@pytest.mark.parametrize("place", [0, 1, FIRST_WORD + 1, STOP])
def test_a_stall_is_a_timeout_of_the_gap_clock(llmock: LLMock, place: int) -> None:
    llmock.stall(after_chunks=place, seconds=60)

    heard = ask_twice(llmock, gap_s=SHORT_S)

    error = heard.model_error
    assert isinstance(error, ModelTimeoutError)
    assert (error.clock, error.limit_s, error.retryable) == ("gap", SHORT_S, True)
    assert heard.text == words_before(place)


@by_stream
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("malformed_arguments", "not valid JSON"),
        ("unknown_tool", "the tools are: weather"),
    ],
)
def test_a_broken_tool_call_runs_nothing_and_the_model_hears_why(
    llmock: LLMock, fault: str, says: str, stream: bool
) -> None:
    if fault == "malformed_arguments" and not stream:
        says = "city"  # in one piece the server sends an object, and an empty one
    llmock.break_tool_call(fault)

    @tool
    def weather(city: str) -> str:
        """Get the weather of a city."""
        raise AssertionError(city)

    agent = Agent(model_at(llmock), tools=[weather], options=ChatOptions(stream=stream))
    heard = asyncio.run(hear(agent.stream("What is the weather of Oslo?")))

    assert heard.response.text
    [result] = llmock.last_request.body["messages"][-1]["content"]
    assert result["is_error"]
    assert says in result["content"]


@pytest.mark.parametrize("place", range(2, 5))
def test_a_call_that_is_cut_off_never_runs(llmock: LLMock, place: int) -> None:
    llmock.call_tool("weather", {"city": "Oslo and its surroundings"})
    llmock.truncate(after_chunks=place)

    @tool
    def weather(city: str) -> str:
        """Get the weather of a city."""
        raise AssertionError(city)

    agent = Agent(model_at(llmock), tools=[weather])
    heard = asyncio.run(hear(agent.stream("What is the weather of Oslo?")))

    assert type(heard.error) is TruncatedStreamError
    assert len(llmock.requests) == 1
