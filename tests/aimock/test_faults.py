"""What aimock breaks is the same typed error in every dialect, or is asked again."""

from __future__ import annotations

import asyncio

import pytest

from rxagent import Agent, tool
from rxagent.errors import (
    AuthenticationError,
    BadRequestError,
    Clock,
    ContextLengthError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelTimeoutError,
    OverloadedError,
    RateLimitError,
    ServerError,
)
from rxagent.events import ToolFinished
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest
from tests.aimock.dialects import DIALECTS, by_dialect, by_stream
from tests.aimock.running import Aimock, Json
from tests.protocol.asking import ask, hear, request_of

ANSWER = "one two three four five six seven eight nine ten"
SHORT_S = 0.4
AT_ONCE = RetryPolicy(base_s=0.01)

STATUSES: dict[int, type[ModelError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: AuthenticationError,
    404: ModelNotFoundError,
    413: ContextLengthError,
    422: BadRequestError,
    429: RateLimitError,
    500: ServerError,
    502: ServerError,
    503: OverloadedError,
    529: OverloadedError,
}


def request(*, stream: bool) -> ChatRequest:
    return request_of("Count to ten.", options=ChatOptions(stream=stream))


def failure(status: int, message: str = "not today", **more: object) -> Json:
    return {"error": {"message": message}, "status": status, **more}


@by_dialect
@by_stream
def test_each_status_has_its_class_and_the_words_of_the_server(
    aimock: Aimock, dialect: str, stream: bool
) -> None:
    aimock.say_in_turn(*map(failure, STATUSES))
    model = DIALECTS[dialect].at(aimock.url)

    heard = ask(model, *[request(stream=stream)] * len(STATUSES))

    for each, (status, kind) in zip(heard, STATUSES.items(), strict=True):
        error = each.model_error
        assert type(error) is kind
        assert error.status == status
        assert "not today" in str(error)
        assert "very-secret" not in str(error)
        assert error.retryable == (status == 429 or status >= 500)
        assert not error.delivered
        assert error.request_id
    assert aimock.statuses == [*STATUSES]


@by_dialect
@by_stream
def test_a_rate_limit_says_when_to_come_back(
    aimock: Aimock, dialect: str, stream: bool
) -> None:
    """M-48: a wait that is too long is the caller's."""
    aimock.say(failure(429, retryAfter=77))
    model = DIALECTS[dialect].at(aimock.url, retry=RetryPolicy())

    [heard] = ask(model, request(stream=stream))

    assert type(heard.error) is RateLimitError
    assert heard.model_error.retry_after_s == 77
    assert aimock.statuses == [429]


@by_dialect
@by_stream
def test_an_error_with_a_good_status_is_an_error(
    aimock: Aimock, dialect: str, stream: bool
) -> None:
    aimock.say(failure(200))

    [heard] = ask(DIALECTS[dialect].at(aimock.url), request(stream=stream))

    assert "not today" in str(heard.model_error)


@by_dialect
def test_a_prompt_that_is_too_long_is_its_own_error(
    aimock: Aimock, dialect: str
) -> None:
    aimock.say(failure(400, "This model's maximum context length is 8 tokens"))

    [heard] = ask(DIALECTS[dialect].at(aimock.url), request(stream=True))

    assert type(heard.error) is ContextLengthError


CHAOS: dict[str, type[ModelError]] = {
    "dropRate": ServerError,
    "malformedRate": MalformedResponseError,
    "disconnectRate": ModelConnectionError,
    "rateLimitRate": RateLimitError,
}


@by_dialect
@by_stream
@pytest.mark.parametrize(("rate", "kind"), CHAOS.items())
def test_chaos_is_a_typed_error_and_the_next_answer_is_well(
    aimock: Aimock, dialect: str, stream: bool, rate: str, kind: type[ModelError]
) -> None:
    broken = {"match": {"sequenceIndex": 0}, "response": {"content": "never"}}
    aimock.script({**broken, "chaos": {rate: 1}})
    aimock.script({"match": {"sequenceIndex": 1}, "response": {"content": ANSWER}})

    first, second = ask(DIALECTS[dialect].at(aimock.url), *[request(stream=stream)] * 2)

    assert type(first.error) is kind
    assert first.text == ""
    assert not first.model_error.delivered
    assert second.response.text == ANSWER


@by_dialect
@pytest.mark.parametrize("chunks", [1, 2, 8])
def test_a_stream_that_breaks_off_is_an_error_and_never_a_short_answer(
    aimock: Aimock, dialect: str, chunks: int
) -> None:
    # Between the chunks it waits, so that what it has written has been sent.
    aimock.say({"content": ANSWER}, truncateAfterChunks=chunks, latency=20, chunkSize=3)

    [heard] = ask(DIALECTS[dialect].at(aimock.url), request(stream=True))

    error = heard.model_error
    assert type(error) is ModelConnectionError
    assert error.retryable
    assert ANSWER.startswith(heard.text)
    assert heard.text != ANSWER
    assert error.delivered == (heard.text != "")
    if chunks == 8:
        assert error.delivered
    [entry] = aimock.journal
    assert entry["response"]["interrupted"]


@by_dialect
@by_stream
@pytest.mark.parametrize("clock", ["first", "gap", "turn"])
def test_a_late_answer_runs_out_of_each_clock(
    aimock: Aimock, dialect: str, stream: bool, clock: Clock
) -> None:
    aimock.say({"content": ANSWER}, chaos={"latencyMs": 30_000})
    limits = {"first_s": None, "gap_s": None, "turn_s": None, f"{clock}_s": SHORT_S}
    model = DIALECTS[dialect].at(aimock.url, timeouts=Timeouts(**limits))

    [heard] = ask(model, request(stream=stream))

    error = heard.model_error
    assert isinstance(error, ModelTimeoutError)
    assert (error.clock, error.limit_s, error.delivered) == (clock, SHORT_S, False)


@by_dialect
def test_a_stream_that_stands_still_runs_out_of_the_gap_clock(
    aimock: Aimock, dialect: str
) -> None:
    # The first chunk comes at once, the second one in a hundred seconds.
    aimock.say({"content": ANSWER}, streamingProfile={"ttft": 1, "tps": 0.01})
    model = DIALECTS[dialect].at(aimock.url, timeouts=Timeouts(gap_s=SHORT_S))

    [heard] = ask(model, request(stream=True))

    error = heard.model_error
    assert isinstance(error, ModelTimeoutError)
    assert error.clock == "gap"


@by_dialect
def test_a_slow_stream_is_heard_to_its_end(aimock: Aimock, dialect: str) -> None:
    aimock.say({"content": ANSWER}, latency=5, chunkSize=4)

    [heard] = ask(DIALECTS[dialect].at(aimock.url), request(stream=True))

    assert heard.text == heard.response.text == ANSWER


@by_dialect
@by_stream
@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_what_may_pass_is_asked_again(
    aimock: Aimock, dialect: str, stream: bool, status: int
) -> None:
    """M-48, M-49."""
    bad = failure(status, retryAfter=0)
    aimock.say_in_turn(bad, bad, {"content": ANSWER})
    model = DIALECTS[dialect].at(aimock.url, retry=AT_ONCE)

    [heard] = ask(model, request(stream=stream))

    assert heard.text == heard.response.text == ANSWER
    assert aimock.statuses == [status, status, 200]


@by_dialect
@by_stream
@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_what_will_not_pass_is_asked_once(
    aimock: Aimock, dialect: str, stream: bool, status: int
) -> None:
    """M-49."""
    aimock.say(failure(status))
    model = DIALECTS[dialect].at(aimock.url, retry=AT_ONCE)

    [heard] = ask(model, request(stream=stream))

    assert heard.model_error.attempts == 1
    assert aimock.statuses == [status]


@by_dialect
def test_what_was_delivered_is_not_asked_for_again(
    aimock: Aimock, dialect: str
) -> None:
    """M-47."""
    aimock.say({"content": ANSWER}, truncateAfterChunks=8, latency=20, chunkSize=3)
    model = DIALECTS[dialect].at(aimock.url, retry=AT_ONCE)

    [heard] = ask(model, request(stream=True))

    assert heard.model_error.delivered
    assert len(aimock.journal) == 1


@by_dialect
def test_a_fault_behind_a_tool_is_asked_again_and_the_tool_runs_once(
    aimock: Aimock, dialect: str
) -> None:
    ran: list[str] = []

    @tool
    def weather(city: str) -> str:
        """Get the weather of a city."""
        ran.append(city)
        return "rain"

    call = {"name": "weather", "arguments": {"city": "Oslo"}}
    aimock.say_in_turn(
        {"toolCalls": [call]}, failure(503, retryAfter=0), {"content": "Rain."}
    )
    model = DIALECTS[dialect].at(aimock.url, retry=AT_ONCE)
    heard = asyncio.run(hear(Agent(model, tools=[weather]).stream("Where?")))

    assert heard.response.text == "Rain."
    assert ran == ["Oslo"]
    assert aimock.statuses == [200, 503, 200]


@by_dialect
def test_a_fault_behind_a_tool_that_stays_is_the_error_of_the_turn(
    aimock: Aimock, dialect: str
) -> None:
    @tool
    def weather(city: str) -> str:
        """Get the weather of a city."""
        return f"rain in {city}"

    call = {"name": "weather", "arguments": {"city": "Oslo"}}
    aimock.say_in_turn({"toolCalls": [call]}, failure(401))
    agent = Agent(DIALECTS[dialect].at(aimock.url), tools=[weather])
    heard = asyncio.run(hear(agent.stream("Where?")))

    assert type(heard.error) is AuthenticationError
    assert any(isinstance(each, ToolFinished) for each in heard.events)


@by_dialect
@by_stream
def test_a_request_that_nothing_matches_is_no_silence(
    aimock: Aimock, dialect: str, stream: bool
) -> None:
    [heard] = ask(DIALECTS[dialect].at(aimock.url), request(stream=stream))

    assert type(heard.error) is OverloadedError  # a strict aimock answers 503
    assert "no fixture matched" in str(heard.error)
