"""GeminiChat against llmock, a server of other people that speaks generateContent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

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
from rxagent.models import GeminiChat
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.wire import parse_arguments
from tests.protocol.asking import Heard, ask, hear, hear_in_turn, request_of

Break = Callable[[LLMock], LLMock]

WORDS = ("Grüezi, ", "東京 ", "🚀 and the rest.")
ANSWER = "".join(WORDS)
REQUEST = request_of("Where is the rocket today, and who is with it?")
WHOLE = request_of(
    "Where is the rocket today, and who is with it?", options=ChatOptions(stream=False)
)
SHORT_S, LONG_S = 0.4, 10.0  # of silence

by_stream = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
by_request = pytest.mark.parametrize(
    "request_", [REQUEST, WHOLE], ids=["streamed", "whole"]
)


def model_at(llmock: LLMock, *, gap_s: float = LONG_S) -> GeminiChat:
    return GeminiChat(
        model="gemini-2.5-pro",
        base_url=llmock.base_url("gemini"),
        api_key="k",
        timeouts=Timeouts(gap_s=gap_s),
        retry=RetryPolicy(max_retries=0),
    )


def ask_twice(
    llmock: LLMock, request: ChatRequest = REQUEST, *, gap_s: float = LONG_S
) -> Heard:
    """What the first of two requests came to; the second one gets its answer."""
    llmock.reply(ANSWER, times=None)
    model = model_at(llmock, gap_s=gap_s)
    first, second = ask(model, request, request)
    assert second.response.text == second.text == ANSWER
    assert len(llmock.requests) == 2
    return first


def test_an_answer_streams_word_by_word_with_its_usage(llmock: LLMock) -> None:
    llmock.reply(ANSWER)

    [heard] = ask(model_at(llmock), REQUEST)

    assert heard.text == heard.response.text == ANSWER
    assert len(heard.events) > 3
    assert heard.response.finish_reason == "stop"
    assert heard.response.finish_reason_raw == "STOP"
    assert heard.response.model == "gemini-2.5-pro"
    usage = heard.response.usage
    assert usage.prompt_tokens == len(REQUEST.messages[0].text) // 4
    assert usage.output_tokens == len(ANSWER) // 4
    assert usage.sure
    assert [record.provider for record in llmock.requests] == ["gemini"]


def test_a_whole_answer_says_the_same(llmock: LLMock) -> None:
    """Law 3, S001-95."""
    llmock.reply(ANSWER, times=2)

    streamed, whole = ask(model_at(llmock), REQUEST, WHOLE)

    assert whole.text == streamed.text == ANSWER
    assert whole.response.message == streamed.response.message
    assert whole.response.usage == streamed.response.usage
    assert whole.response.finish_reason == streamed.response.finish_reason
    first, second = llmock.requests
    assert first.body == second.body


def test_the_variables_of_the_official_sdk_find_the_server(llmock: LLMock) -> None:
    llmock.reply(ANSWER)

    [heard] = ask(GeminiChat(model="gemini-2.5-pro"), REQUEST)

    assert heard.text == ANSWER


@pytest.mark.parametrize(
    ("reason", "ours", "theirs"),
    [
        ("length", "length", "MAX_TOKENS"),
        ("content_filter", "content_filter", "SAFETY"),
    ],
)
@by_stream
def test_an_answer_may_be_cut_short(
    llmock: LLMock, reason: str, ours: str, theirs: str, stream: bool
) -> None:
    llmock.add(Reply(text="one two", finish_reason=reason))

    [heard] = ask(model_at(llmock), REQUEST if stream else WHOLE)

    assert heard.text == "one two"
    assert heard.response.finish_reason == ours
    assert heard.response.finish_reason_raw == theirs


@by_stream
def test_an_agent_runs_the_tool_that_the_server_calls(
    llmock: LLMock, stream: bool
) -> None:
    ran: list[tuple[str, int]] = []

    @tool
    def weather(city: str, days: int) -> str:
        """Get the weather of a city."""
        ran.append((city, days))
        return f"rain in {city}"

    @tool
    def stock_price(ticker: str) -> float:
        """Get the price of a share."""
        raise AssertionError(ticker)

    agent = Agent(
        model_at(llmock),
        tools=[stock_price, weather],
        options=ChatOptions(stream=stream),
    )
    heard = asyncio.run(hear(agent.stream("What is the weather of that city?")))

    [(city, days)] = ran
    assert isinstance(city, str)
    assert isinstance(days, int)
    call, result, answer = heard.response.transcript
    assert isinstance(call, AssistantMessage)
    assert isinstance(result, ToolMessage)
    assert result.text == f"rain in {city}"
    assert heard.response.text == answer.text != ""
    assert heard.response.usage.requests == 2
    first, second = (record.body["contents"] for record in llmock.requests)
    assert second[: len(first)] == first
    asked, answered = second[len(first) :]
    [function] = asked["parts"]
    assert function == {
        "functionCall": {"name": "weather", "args": {"city": city, "days": days}}
    }
    assert answered["role"] == "user"
    [response] = answered["parts"]
    assert response["functionResponse"]["response"] == {"output": f"rain in {city}"}


def test_a_batch_of_calls_and_the_text_beside_them(llmock: LLMock) -> None:
    cities = ("東京", "Zürich", 'Oslo \\ "quoted" 🚀')
    calls = tuple(ToolCall("weather", {"city": city}) for city in cities)
    llmock.add(Reply(text="Let me look. ", tool_calls=calls)).reply("Rain.")

    @tool
    def weather(city: str) -> str:
        """Get the weather of a city."""
        return f"rain in {city}"

    agent = Agent(model_at(llmock), tools=[weather])
    heard = asyncio.run(hear(agent.stream("Where does it rain?")))

    assert heard.text == "Let me look. Rain."
    assert heard.response.text == "Rain."
    [interim] = [each for each in heard.events if isinstance(each, RoundFinished)]
    assert interim.response.text == "Let me look. "
    done = [each for each in heard.events if isinstance(each, ToolFinished)]
    assert {each.value for each in done} == {f"rain in {city}" for city in cities}
    sent = llmock.last_request.body["contents"]
    assert [content["role"] for content in sent] == ["user", "model", "user"]
    assert [
        part["functionResponse"]["response"]["output"] for part in sent[2]["parts"]
    ] == [f"rain in {city}" for city in cities]


@pytest.mark.parametrize(
    ("choice", "called"),
    [(None, "first"), ("auto", "first"), ("required", "first"), ("second", "second")],
)
def test_each_form_of_tool_choice_is_obeyed(
    llmock: LLMock, choice: str | None, called: str
) -> None:
    @tool
    def first() -> str:
        """Do one thing."""
        return ""

    @tool
    def second() -> str:
        """Do another thing."""
        return ""

    asking, not_asking = (
        request_of("Go!", tools=(first, second), options=ChatOptions(tool_choice=each))
        for each in (choice, "none")
    )
    asked, not_asked = ask(model_at(llmock), asking, not_asking)

    [call] = asked.response.tool_calls
    assert (call.name, parse_arguments(call.arguments)) == (called, {})
    assert asked.response.finish_reason == "tool_calls"
    assert not_asked.response.tool_calls == ()
    assert not_asked.response.text != ""


def test_an_answer_meets_the_schema_that_was_asked_for(llmock: LLMock) -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "year": {"type": "integer", "minimum": 1888},
            "genre": {"enum": ["drama", "comedy"]},
        },
        "required": ["name", "year", "genre"],
        "additionalProperties": False,
    }
    options = ChatOptions(response_schema=schema)

    [heard] = ask(model_at(llmock), request_of("A film.", options=options))

    jsonschema.validate(from_json(heard.response.text), schema)


def test_many_answers_at_once_do_not_mix(llmock: LLMock) -> None:
    """Law 7."""
    texts = [f"answer number {number}" for number in range(40)]
    for text in texts:
        llmock.reply(text)
    model = model_at(llmock)

    async def scene() -> list[str]:
        heard = await asyncio.gather(*(hear_in_turn(model, REQUEST) for _ in texts))
        return [each.response.text for [each] in heard]

    assert sorted(asyncio.run(scene())) == sorted(texts)


STATUSES: dict[int, type[ModelError]] = {
    **dict.fromkeys((400, 402, 409, 422), BadRequestError),
    401: AuthenticationError,
    403: AuthenticationError,
    404: ModelNotFoundError,
    413: ContextLengthError,
    429: RateLimitError,
    **dict.fromkeys((408, 500, 502, 504), ServerError),
    503: OverloadedError,
    529: OverloadedError,
}


@by_request
@pytest.mark.parametrize(("status", "kind"), STATUSES.items())
def test_each_status_has_its_class(
    llmock: LLMock, status: int, kind: type[ModelError], request_: ChatRequest
) -> None:
    llmock.fail(status)

    error = ask_twice(llmock, request_).model_error

    assert type(error) is kind
    assert error.status == status
    assert str(status) in str(error)
    assert not error.delivered
    assert error.code is not None
    assert error.code.isupper()
    assert error.provider == "gemini"


@by_request
def test_a_rate_limit_says_when_to_come_back(
    llmock: LLMock, request_: ChatRequest
) -> None:
    llmock.rate_limit(retry_after=0.25)

    error = ask_twice(llmock, request_).model_error

    assert type(error) is RateLimitError
    assert error.retryable
    assert error.retry_after_s == 0.25


@pytest.mark.parametrize("chunks", range(3))
def test_a_truncated_stream_is_an_error_and_never_a_short_answer(
    llmock: LLMock, chunks: int
) -> None:
    heard = ask_twice(llmock.truncate(after_chunks=chunks))

    error = heard.model_error
    assert type(error) is (TruncatedStreamError if chunks else EmptyStreamError)
    assert error.retryable
    assert ANSWER.startswith(heard.text)
    assert heard.text != ANSWER
    assert error.delivered == (heard.text != "")


@pytest.mark.parametrize("chunks", range(3))
def test_a_lost_connection_is_an_error_wherever_it_is_lost(
    llmock: LLMock, chunks: int
) -> None:
    heard = ask_twice(llmock.disconnect(after_chunks=chunks))

    error = heard.model_error
    assert type(error) is ModelConnectionError
    assert error.retryable
    assert ANSWER.startswith(heard.text)
    assert error.delivered == (heard.text != "")


@pytest.mark.parametrize("chunks", range(3))
def test_a_chunk_that_is_no_json_is_an_error_wherever_it_comes(
    llmock: LLMock, chunks: int
) -> None:
    heard = ask_twice(llmock.corrupt(after_chunks=chunks))

    assert type(heard.model_error) is MalformedResponseError
    assert heard.model_error.delivered == (heard.text != "")


def test_a_stall_is_a_timeout_of_the_gap_clock(llmock: LLMock) -> None:
    llmock.stall(after_chunks=2, seconds=60)

    heard = ask_twice(llmock, gap_s=SHORT_S)

    error = heard.model_error
    assert isinstance(error, ModelTimeoutError)
    assert (error.clock, error.limit_s, error.retryable) == ("gap", SHORT_S, True)
    assert error.delivered
    assert any(isinstance(each, TextDelta) for each in heard.events)


RECOVERED: dict[str, Break] = {
    "429": lambda llmock: llmock.rate_limit(times=2, retry_after=0.15),
    "500": lambda llmock: llmock.fail(500),
    "503": lambda llmock: llmock.fail(503, retry_after=0.1),
    "disconnect": lambda llmock: llmock.disconnect(after_chunks=2),
    "truncated": lambda llmock: llmock.truncate(after_chunks=2),
}
GIVEN_UP: dict[str, Break] = {
    "400": lambda llmock: llmock.fail(400, times=None),
    "401": lambda llmock: llmock.fail(401, times=None),
    "404": lambda llmock: llmock.fail(404, times=None),
}


async def obey(model: GeminiChat, request: ChatRequest) -> Heard:
    """Do what the errors say: ask again if and when they want it."""
    while True:
        [heard] = await hear_in_turn(model, request)
        if heard.error is None or not heard.model_error.retryable:
            return heard
        await asyncio.sleep(heard.model_error.retry_after_s or 0)


@pytest.mark.parametrize("fault", [*RECOVERED, *GIVEN_UP])
def test_who_does_what_the_errors_say_passes_the_verdict_of_llmock(
    llmock: LLMock, fault: str
) -> None:
    (RECOVERED | GIVEN_UP)[fault](llmock).reply(ANSWER, times=None)

    heard = asyncio.run(obey(model_at(llmock, gap_s=SHORT_S), REQUEST))

    if fault in RECOVERED:
        assert heard.response.text == ANSWER
    else:
        assert heard.error is not None
    llmock.assert_resilient(strict=True)
