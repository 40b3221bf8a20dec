"""What llmock breaks is a typed error, at once, and the next request is well again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Match, StreamFault

from rxagent import Agent, tool
from rxagent.errors import (
    AuthenticationError,
    BadRequestError,
    Clock,
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
from rxagent.events import ToolFinished, ToolStarted
from rxagent.models import OpenAIChat
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest
from tests.protocol.asking import Heard, ask, hear, hear_in_turn, request_of

Break = Callable[[LLMock], LLMock]

WORDS = ("one ", "two ", "three")
ANSWER = "".join(WORDS)
# llmock streams the role, each word, the finish reason, the usage, and [DONE].
FINISH_REASON, USAGE, DONE = len(WORDS) + 1, len(WORDS) + 2, len(WORDS) + 3
REQUEST = request_of("Count from one to three.")
WHOLE = request_of("Count from one to three.", options=ChatOptions(stream=False))
SHORT_S = 0.4
SHORT, LONG = Timeouts(gap_s=SHORT_S), Timeouts(gap_s=10.0)
ONCE = RetryPolicy(max_retries=0)

BAD_REQUESTS = dict.fromkeys((400, 402, 405, 409, 415, 422, 451), BadRequestError)
STATUSES: dict[int, type[ModelError]] = {
    **BAD_REQUESTS,
    401: AuthenticationError,
    403: AuthenticationError,
    404: ModelNotFoundError,
    408: ServerError,
    413: ContextLengthError,
    429: RateLimitError,
    **dict.fromkeys((500, 501, 502, 504, 520, 599), ServerError),
    503: OverloadedError,
    529: OverloadedError,
}

by_request = pytest.mark.parametrize(
    "request_", [REQUEST, WHOLE], ids=["streamed", "whole"]
)


def model_at(
    llmock: LLMock,
    *,
    timeouts: Timeouts = LONG,
    retry: RetryPolicy = ONCE,
) -> OpenAIChat:
    return OpenAIChat(
        model="gpt-4o",
        base_url=llmock.base_url(),
        api_key="k",
        timeouts=timeouts,
        retry=retry,
    )


def ask_twice(
    llmock: LLMock, request: ChatRequest = REQUEST, *, timeouts: Timeouts = LONG
) -> Heard:
    """What the first of two requests came to; the second one, over the same pool,
    gets its answer, and the server has seen these two and no more."""
    llmock.reply(ANSWER, times=None)
    model = model_at(llmock, timeouts=timeouts)
    first, second = ask(model, request, request)
    assert second.response.text == second.text == ANSWER
    assert len(llmock.requests) == 2
    return first


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


def test_every_status_is_a_model_error_that_says_whether_to_try_again(
    llmock: LLMock,
) -> None:
    statuses = range(400, 600)
    for status in statuses:
        llmock.fail(status)

    heard = ask(model_at(llmock), *[REQUEST] * len(statuses))

    errors = [each.model_error for each in heard]
    assert [error.status for error in errors] == [*statuses]
    again = {error.status for error in errors if error.retryable}
    assert again == {408, 409, 429, *range(500, 600)}


@pytest.mark.parametrize("provider", ["mistral", "groq", "together", "xai"])
@pytest.mark.parametrize("status", [401, 404, 429, 503])
def test_the_words_of_each_provider_are_in_the_error(
    llmock: LLMock, provider: str, status: int
) -> None:
    llmock.fail(status, message="the words of the provider")
    model = OpenAIChat(
        model="m",
        base_url=llmock.base_url(provider),
        api_key="very-secret",
        retry=ONCE,
    )

    [heard] = ask(model, REQUEST)

    assert type(heard.error) is STATUSES[status]
    assert "the words of the provider" in str(heard.error)
    assert "very-secret" not in str(heard.error)


@by_request
def test_a_rate_limit_says_when_to_come_back(
    llmock: LLMock, request_: ChatRequest
) -> None:
    llmock.rate_limit(retry_after=0.25)

    error = ask_twice(llmock, request_).model_error

    assert type(error) is RateLimitError
    assert error.retryable
    assert error.retry_after_s == 0.25


@pytest.mark.parametrize("unit", ["requests", "tokens"])
def test_a_quota_that_is_used_up_says_how_long_it_takes_to_refill(
    llmock: LLMock, unit: str
) -> None:
    options = ChatOptions(max_tokens=1_000)
    request = request_of("Count from one to three.", options=options)
    if unit == "requests":
        llmock.limits(rpm=1)
    else:
        llmock.limits(tpm=1_500)

    good, bad = ask(model_at(llmock), request, request)

    assert good.response.text
    error = bad.model_error
    assert type(error) is RateLimitError
    assert f"limit reached for {unit} per minute" in str(error)
    assert error.retry_after_s is not None
    assert 20 < error.retry_after_s <= 60


def test_a_prompt_that_is_too_long_is_its_own_error(llmock: LLMock) -> None:
    error = ask_twice(llmock.context_overflow()).model_error
    assert type(error) is ContextLengthError
    assert error.code == "context_length_exceeded"
    assert not error.retryable

    llmock.limits(context_window=100)
    [heard] = ask(model_at(llmock), request_of("too long " * 100))
    assert type(heard.error) is ContextLengthError
    assert "maximum context length is 100 tokens" in str(heard.error)


def test_an_outage_is_one_error_for_each_request(llmock: LLMock) -> None:
    llmock.outage()

    heard = ask(model_at(llmock), REQUEST, WHOLE, REQUEST)

    assert [type(each.error) for each in heard] == [OverloadedError] * 3
    assert len(llmock.requests) == 3


@pytest.mark.parametrize("chunks", range(FINISH_REASON + 1))
def test_a_truncated_stream_is_an_error_and_never_a_short_answer(
    llmock: LLMock, chunks: int
) -> None:
    heard = ask_twice(llmock.truncate(after_chunks=chunks))

    error = heard.model_error
    assert type(error) is (TruncatedStreamError if chunks else EmptyStreamError)
    assert error.retryable
    assert heard.text == "".join(WORDS[: max(chunks - 1, 0)])
    assert error.delivered == (heard.text != "")


@pytest.mark.parametrize("chunks", [USAGE, DONE])
def test_behind_the_finish_reason_a_stream_may_end(llmock: LLMock, chunks: int) -> None:
    response = ask_twice(llmock.truncate(after_chunks=chunks)).response

    assert response.text == ANSWER
    assert response.finish_reason == "stop"
    counted = response.usage.output_tokens
    assert (counted is None) == (chunks == USAGE)
    assert response.usage.sure == (chunks == DONE)


@pytest.mark.parametrize("chunks", range(DONE + 1))
def test_a_lost_connection_is_an_error_wherever_it_is_lost(
    llmock: LLMock, chunks: int
) -> None:
    heard = ask_twice(llmock.disconnect(after_chunks=chunks))

    error = heard.model_error
    assert type(error) is ModelConnectionError
    assert error.retryable
    assert heard.text == "".join(WORDS[: max(chunks - 1, 0)])
    assert error.delivered == (heard.text != "")


@pytest.mark.parametrize("chunks", range(DONE + 1))
def test_a_chunk_that_is_no_json_is_an_error_wherever_it_comes(
    llmock: LLMock, chunks: int
) -> None:
    heard = ask_twice(llmock.corrupt(after_chunks=chunks))

    assert type(heard.model_error) is MalformedResponseError
    assert heard.text == "".join(WORDS[: max(chunks - 1, 0)])
    assert heard.model_error.delivered == (heard.text != "")


@pytest.mark.parametrize("chunks", [0, 1, 3, DONE])
def test_a_stall_is_a_timeout_of_the_gap_clock(llmock: LLMock, chunks: int) -> None:
    llmock.stall(after_chunks=chunks, seconds=60)

    heard = ask_twice(llmock, timeouts=SHORT)

    error = heard.model_error
    assert isinstance(error, ModelTimeoutError)
    assert (error.clock, error.limit_s, error.retryable) == ("gap", SHORT_S, True)
    assert heard.text == "".join(WORDS[: max(chunks - 1, 0)])
    assert error.delivered == (heard.text != "")
    stalled = llmock.requests[0]
    assert not stalled.completed
    assert stalled.stall_waited is not None
    assert stalled.stall_waited < 10


SLOW: dict[str, tuple[Break, ChatRequest]] = {
    "no first token": (lambda llmock: llmock.slow_first_token(60), REQUEST),
    "no headers": (lambda llmock: llmock.delay(1), REQUEST),
    "no whole answer": (lambda llmock: llmock.delay(1), WHOLE),
}


@pytest.mark.parametrize(("slow", "request_"), SLOW.values(), ids=SLOW)
def test_a_server_that_is_too_slow_to_begin_is_a_timeout(
    llmock: LLMock, slow: Break, request_: ChatRequest
) -> None:
    error = ask_twice(slow(llmock), request_, timeouts=SHORT).model_error

    assert isinstance(error, ModelTimeoutError)
    assert error.clock == "gap"
    assert not error.delivered


@pytest.mark.parametrize(("slow", "request_"), SLOW.values(), ids=SLOW)
@pytest.mark.parametrize("clock", ["first", "turn"])
def test_it_may_run_out_of_the_first_clock_or_of_that_of_the_turn_as_well(
    llmock: LLMock, slow: Break, request_: ChatRequest, clock: Clock
) -> None:
    limits = {f"{clock}_s": SHORT_S}
    heard = ask_twice(slow(llmock), request_, timeouts=replace(LONG, **limits))

    error = heard.model_error
    assert isinstance(error, ModelTimeoutError)
    assert (error.clock, error.limit_s, error.delivered) == (clock, SHORT_S, False)


def test_a_stall_behind_the_first_token_is_no_matter_of_the_first_clock(
    llmock: LLMock,
) -> None:
    llmock.stall(after_chunks=2, seconds=60)

    timeouts = Timeouts(first_s=SHORT_S, gap_s=None, turn_s=2 * SHORT_S)
    error = ask_twice(llmock, timeouts=timeouts).model_error

    assert isinstance(error, ModelTimeoutError)
    assert (error.clock, error.delivered) == ("turn", True)


PATIENT: dict[str, Break] = {
    "a slow first token": lambda llmock: llmock.slow_first_token(0.3),
    "a late answer": lambda llmock: llmock.delay(0.3),
    "a pause": lambda llmock: llmock.stall(after_chunks=2, seconds=0.3),
    "slow tokens": lambda llmock: llmock.pace(30),
}


@pytest.mark.parametrize("slow", PATIENT.values(), ids=PATIENT)
def test_a_server_that_is_slow_but_alive_is_heard_to_the_end(
    llmock: LLMock, slow: Break
) -> None:
    assert ask_twice(slow(llmock)).response.text == ANSWER


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
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
    llmock.break_tool_call(fault)

    @tool
    def weather(city: str) -> str:
        """Get the weather of a city."""
        raise AssertionError(city)

    agent = Agent(model_at(llmock), tools=[weather], options=ChatOptions(stream=stream))
    heard = asyncio.run(hear(agent.stream("What is the weather of Oslo?")))

    assert heard.response.text
    assert not any(isinstance(each, ToolStarted) for each in heard.events)
    [done] = [each for each in heard.events if isinstance(each, ToolFinished)]
    assert done.message.is_error
    assert says in done.message.text
    sent = llmock.last_request.body["messages"]
    assert sent[-1]["content"] == f"Error: {done.message.text}"
    assert sent[-1]["tool_call_id"] == sent[-2]["tool_calls"][0]["id"]


TOOL_FAULTS: dict[str, tuple[Break, type[ModelError]]] = {
    "status": (lambda llmock: llmock.fail(500), ServerError),
    "disconnect": (
        lambda llmock: llmock.disconnect(after_chunks=2),
        ModelConnectionError,
    ),
    "truncated": (lambda llmock: llmock.truncate(after_chunks=2), TruncatedStreamError),
    "corrupted": (
        lambda llmock: llmock.corrupt(after_chunks=2),
        MalformedResponseError,
    ),
    "stalled": (lambda llmock: llmock.stall(after_chunks=2), ModelTimeoutError),
}


@pytest.mark.parametrize(("fault", "kind"), TOOL_FAULTS.values(), ids=TOOL_FAULTS)
def test_a_fault_behind_a_tool_is_the_error_of_the_turn(
    llmock: LLMock, fault: Break, kind: type[ModelError]
) -> None:
    @tool
    def weather(city: str) -> str:
        """Get the weather of a city."""
        fault(llmock)
        return f"rain in {city}"

    agent = Agent(model_at(llmock, timeouts=SHORT), tools=[weather])
    heard = asyncio.run(hear(agent.stream("What is the weather of Oslo?")))

    assert type(heard.model_error) is kind
    assert any(isinstance(each, ToolFinished) for each in heard.events)
    assert len(llmock.requests) == 2


@pytest.mark.parametrize("chunks", range(2, 5))
def test_a_call_that_is_cut_off_never_runs(llmock: LLMock, chunks: int) -> None:
    llmock.call_tool("weather", {"city": "Oslo and its surroundings"})
    llmock.truncate(after_chunks=chunks)

    @tool
    def weather(city: str) -> str:
        """Get the weather of a city."""
        raise AssertionError(city)

    agent = Agent(model_at(llmock), tools=[weather])
    heard = asyncio.run(hear(agent.stream("What is the weather of Oslo?")))

    assert type(heard.error) is TruncatedStreamError
    assert len(llmock.requests) == 1


def test_faults_of_some_do_not_touch_the_others(llmock: LLMock) -> None:
    """Law 7."""
    kinds: dict[str, type[ModelError]] = {
        "disconnect": ModelConnectionError,
        "truncate": TruncatedStreamError,
        "malformed": MalformedResponseError,
    }
    for kind in ("disconnect", "truncate", "malformed"):
        match = Match(model=kind, stream=True)
        fault = StreamFault(kind, after_chunks=2, times=None, match=match)
        llmock.add(fault)
    llmock.reply(ANSWER, times=None)
    model = model_at(llmock)
    names = [*chain.from_iterable((kind, "well") for kind in kinds)] * 10

    async def scene() -> Iterator[Heard]:
        requests = (
            request_of("Count!", options=ChatOptions(model=name)) for name in names
        )
        heard = await asyncio.gather(*(hear_in_turn(model, each) for each in requests))
        return chain.from_iterable(heard)

    for name, heard in zip(names, asyncio.run(scene()), strict=True):
        if name == "well":
            assert heard.response.text == ANSWER
        else:
            assert type(heard.error) is kinds[name]
            assert heard.text == WORDS[0]


RECOVERED: dict[str, Break] = {
    "429": lambda llmock: llmock.rate_limit(times=2, retry_after=0.15),
    "408": lambda llmock: llmock.fail(408),
    "409": lambda llmock: llmock.fail(409),
    "500": lambda llmock: llmock.fail(500),
    "503": lambda llmock: llmock.fail(503, retry_after=0.1),
    "529": lambda llmock: llmock.fail(529, retry_after=0.1),
    "disconnect": lambda llmock: llmock.disconnect(after_chunks=2),
    "truncated": lambda llmock: llmock.truncate(after_chunks=2),
    "stalled": lambda llmock: llmock.stall(after_chunks=2),
}
GIVEN_UP: dict[str, Break] = {
    "400": lambda llmock: llmock.fail(400, times=None),
    "401": lambda llmock: llmock.fail(401, times=None),
    "403": lambda llmock: llmock.fail(403, times=None),
    "404": lambda llmock: llmock.fail(404, times=None),
    "422": lambda llmock: llmock.fail(422, times=None),
}


async def obey(model: OpenAIChat, request: ChatRequest) -> Heard:
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

    heard = asyncio.run(obey(model_at(llmock, timeouts=SHORT), REQUEST))

    if fault in RECOVERED:
        assert heard.response.text == ANSWER
    else:
        assert heard.error is not None
    llmock.assert_resilient(strict=True)


BEFORE_A_TOKEN: dict[str, Break] = {
    **{name: RECOVERED[name] for name in ("429", "408", "409", "500", "503", "529")},
    "disconnect": lambda llmock: llmock.disconnect(after_chunks=1),
    "truncated": lambda llmock: llmock.truncate(after_chunks=0),
    "stalled": lambda llmock: llmock.stall(after_chunks=1),
}
AFTER_A_TOKEN: dict[str, Break] = {
    "disconnect": lambda llmock: llmock.disconnect(after_chunks=2, times=None),
    "stalled": lambda llmock: llmock.stall(after_chunks=2, times=None),
}


@pytest.mark.parametrize("fault", [*BEFORE_A_TOKEN, *GIVEN_UP])
def test_the_retries_of_a_model_pass_the_verdict_of_llmock(
    llmock: LLMock, fault: str
) -> None:
    """M-48, M-49: the same fault as above, and nobody who does what the errors say."""
    (BEFORE_A_TOKEN | GIVEN_UP)[fault](llmock).reply(ANSWER, times=None)
    model = model_at(llmock, timeouts=SHORT, retry=RetryPolicy(base_s=0.1))

    [heard] = ask(model, REQUEST)

    if fault in BEFORE_A_TOKEN:
        assert heard.response.text == heard.text == ANSWER
        assert len(llmock.requests) == (3 if fault == "429" else 2)
    else:
        assert heard.model_error.attempts == len(llmock.requests) == 1
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("fault", AFTER_A_TOKEN)
def test_once_a_token_is_out_a_model_does_not_ask_again(
    llmock: LLMock, fault: str
) -> None:
    """M-47."""
    AFTER_A_TOKEN[fault](llmock)
    model = model_at(llmock, timeouts=SHORT, retry=RetryPolicy(base_s=0.01))

    [heard] = ask(model, REQUEST)

    assert heard.text
    assert heard.model_error.delivered
    assert len(llmock.requests) == 1


def test_an_outage_is_given_up_after_the_last_retry(llmock: LLMock) -> None:
    """M-48, M-49."""
    llmock.outage()
    seen: list[int] = []
    policy = RetryPolicy(
        base_s=0.01, on_retry=lambda error, _: seen.append(error.attempts)
    )

    [heard] = ask(model_at(llmock, retry=policy), REQUEST)

    assert type(heard.error) is OverloadedError
    assert heard.model_error.attempts == len(llmock.requests) == 3
    assert seen == [1, 2]


def test_a_server_that_wants_a_long_wait_is_not_waited_for(llmock: LLMock) -> None:
    """M-48: a retry-after is honoured but capped."""
    llmock.rate_limit(retry_after=31)

    [heard] = ask(model_at(llmock, retry=RetryPolicy()), REQUEST)

    assert type(heard.error) is RateLimitError
    assert heard.model_error.retry_after_s == 31
    assert len(llmock.requests) == 1
