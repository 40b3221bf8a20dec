"""OpenAIResponses against llmock, a server of other people that speaks its format."""

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
from rxagent.events import RoundFinished, TextDelta, ToolFinished
from rxagent.messages import AssistantMessage, ToolMessage
from rxagent.models import OpenAIResponses
from rxagent.operators import just
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.runtime import Flow, iterate
from tests.protocol.asking import Heard, ask, hear, hear_in_turn, request_of

ANSWER = "Grüezi, 東京 🚀 and the rest."
REQUEST = request_of("Where is the rocket today, and who is with it?")
WHOLE = request_of(REQUEST.messages[0].text, options=ChatOptions(stream=False))

by_stream = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
by_request = pytest.mark.parametrize(
    "request_", [REQUEST, WHOLE], ids=["streamed", "whole"]
)


def model_at(llmock: LLMock, *, gap_s: float = 10.0) -> OpenAIResponses:
    return OpenAIResponses(
        model="gpt-4o",
        base_url=llmock.base_url(),
        api_key="k",
        timeouts=Timeouts(gap_s=gap_s),
        retry=RetryPolicy(max_retries=0),
    )


def test_an_answer_streams_word_by_word_with_its_usage(llmock: LLMock) -> None:
    llmock.reply(ANSWER)

    [heard] = ask(model_at(llmock), REQUEST)

    assert heard.text == heard.response.text == ANSWER
    assert len(heard.events) > 3
    assert heard.response.finish_reason == "stop"
    assert heard.response.finish_reason_raw == "completed"
    assert heard.response.model == "gpt-4o"
    assert (heard.response.id or "").startswith("resp_")
    usage = heard.response.usage
    assert usage.output_tokens == len(ANSWER) // 4
    assert usage.sure


def test_a_whole_answer_says_the_same(llmock: LLMock) -> None:
    """Law 3, S001-95."""
    llmock.reply(ANSWER, times=2)

    streamed, whole = ask(model_at(llmock), REQUEST, WHOLE)

    assert whole.response.message == streamed.response.message
    assert whole.response.usage == streamed.response.usage
    assert whole.response.finish_reason == streamed.response.finish_reason
    assert [record.stream for record in llmock.requests] == [True, False]
    assert {record.path for record in llmock.requests} == {"/v1/responses"}


def test_the_variables_of_the_official_sdk_find_the_server(llmock: LLMock) -> None:
    llmock.reply(ANSWER)

    [heard] = ask(OpenAIResponses(model="gpt-4o"), REQUEST)

    assert heard.text == ANSWER


def test_an_answer_cut_by_length_says_so(llmock: LLMock) -> None:
    llmock.add(Reply(text="one two", finish_reason="length"))

    [heard] = ask(model_at(llmock), WHOLE)

    assert heard.response.finish_reason == "length"
    assert heard.response.finish_reason_raw == "max_output_tokens"


@by_stream
def test_an_agent_runs_the_tools_that_the_server_calls(
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
    [interim] = [each for each in heard.events if isinstance(each, RoundFinished)]
    assert interim.response.finish_reason == "tool_calls"
    done = [each for each in heard.events if isinstance(each, ToolFinished)]
    assert {each.value for each in done} == {f"rain in {city}" for city in cities}
    call, *results, answer = heard.response.transcript
    assert isinstance(call, AssistantMessage)
    assert all(isinstance(result, ToolMessage) for result in results)
    assert answer.text == "Rain."
    sent = llmock.last_request.body["input"]
    assert [item["type"] for item in sent] == [
        "message",
        "message",
        *["function_call"] * 3,
        *["function_call_output"] * 3,
    ]
    assert [item["call_id"] for item in sent[2:5]] == [
        item["call_id"] for item in sent[5:]
    ]


def test_an_answer_meets_the_schema_that_was_asked_for(llmock: LLMock) -> None:
    schema: dict[str, object] = {
        "title": "Film",
        "type": "object",
        "properties": {"year": {"type": "integer", "minimum": 1888}},
        "required": ["year"],
        "additionalProperties": False,
    }
    options = ChatOptions(response_schema=schema)

    [heard] = ask(model_at(llmock), request_of("A film.", options=options))

    jsonschema.validate(from_json(heard.response.text), schema)


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


WORDS = ("one ", "two ", "three")
# created, in_progress, item and part added, each word, text, part and item done.
FIRST, END = 4, 4 + len(WORDS) + 3
STATUSES: dict[int, type[ModelError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    404: ModelNotFoundError,
    429: RateLimitError,
    500: ServerError,
    503: OverloadedError,
    529: OverloadedError,
}


def ask_twice(
    llmock: LLMock, request: ChatRequest = REQUEST, *, gap_s: float = 10.0
) -> Heard:
    """What the first of two requests came to; the second one gets its answer."""
    llmock.reply("".join(WORDS), times=None)
    model = model_at(llmock, gap_s=gap_s)
    first, second = ask(model, request, request)
    assert second.response.text == second.text == "".join(WORDS)
    assert len(llmock.requests) == 2
    return first


def delivered(events: int) -> str:
    """The text of an answer that ends after so many events of the wire."""
    return "".join(WORDS[: max(events - FIRST, 0)])


@by_request
@pytest.mark.parametrize(("status", "kind"), STATUSES.items())
def test_each_status_has_its_class(
    llmock: LLMock, status: int, kind: type[ModelError], request_: ChatRequest
) -> None:
    llmock.fail(status)

    error = ask_twice(llmock, request_).model_error

    assert type(error) is kind
    assert error.status == status
    assert not error.delivered


def test_a_rate_limit_says_when_to_come_back(llmock: LLMock) -> None:
    error = ask_twice(llmock.rate_limit(retry_after=0.25)).model_error

    assert (type(error), error.retry_after_s) == (RateLimitError, 0.25)


def test_a_prompt_that_is_too_long_is_its_own_error(llmock: LLMock) -> None:
    error = ask_twice(llmock.context_overflow()).model_error

    assert type(error) is ContextLengthError
    assert error.code == "context_length_exceeded"


@pytest.mark.parametrize("events", range(END + 1))
def test_a_truncated_stream_is_an_error_and_never_a_short_answer(
    llmock: LLMock, events: int
) -> None:
    heard = ask_twice(llmock.truncate(after_chunks=events))

    error = heard.model_error
    assert type(error) is (TruncatedStreamError if events else EmptyStreamError)
    assert error.retryable
    assert heard.text == delivered(events)
    assert error.delivered == (heard.text != "")


@pytest.mark.parametrize("events", range(END + 1))
def test_a_lost_connection_is_an_error_wherever_it_is_lost(
    llmock: LLMock, events: int
) -> None:
    heard = ask_twice(llmock.disconnect(after_chunks=events))

    assert type(heard.model_error) is ModelConnectionError
    assert heard.text == delivered(events)


@pytest.mark.parametrize("events", range(END + 1))
def test_an_event_that_is_no_json_is_an_error_wherever_it_comes(
    llmock: LLMock, events: int
) -> None:
    heard = ask_twice(llmock.corrupt(after_chunks=events))

    assert type(heard.model_error) is MalformedResponseError
    assert heard.text == delivered(events)


def test_a_stall_is_a_timeout_of_the_gap_clock(llmock: LLMock) -> None:
    llmock.stall(after_chunks=FIRST + 1, seconds=60)

    heard = ask_twice(llmock, gap_s=0.4)

    assert isinstance(heard.model_error, ModelTimeoutError)
    assert heard.text == WORDS[0]


@pytest.mark.parametrize("events", range(2, 6))
def test_a_call_that_is_cut_off_never_runs(llmock: LLMock, events: int) -> None:
    llmock.call_tool("weather", {"city": "Oslo and its surroundings"})
    llmock.truncate(after_chunks=events)

    @tool
    def weather(city: str) -> str:
        """Get the weather of a city."""
        raise AssertionError(city)

    agent = Agent(model_at(llmock), tools=[weather])
    heard = asyncio.run(hear(agent.stream("What is the weather of Oslo?")))

    assert type(heard.error) is TruncatedStreamError
    assert len(llmock.requests) == 1


@by_stream
@pytest.mark.parametrize("fault", ["malformed_arguments", "unknown_tool"])
def test_a_broken_tool_call_runs_nothing_and_the_model_hears_why(
    llmock: LLMock, fault: str, stream: bool
) -> None:
    llmock.break_tool_call(fault)

    @tool
    def weather(city: str) -> str:
        """Get the weather of a city."""
        raise AssertionError(city)

    agent = Agent(model_at(llmock), tools=[weather], options=ChatOptions(stream=stream))
    heard = asyncio.run(hear(agent.stream("What is the weather of Oslo?")))

    assert heard.response.text
    [done] = [each for each in heard.events if isinstance(each, ToolFinished)]
    assert done.message.is_error
    assert (
        llmock.last_request.body["input"][-1]["output"] == f"Error: {done.message.text}"
    )
