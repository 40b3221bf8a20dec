from __future__ import annotations

import asyncio
import gc
import json
import logging
import warnings
import weakref
from base64 import b64encode

import httpx
import pytest
from llmock.pytest_plugin import LLMock

from rxagent.errors import (
    AuthenticationError,
    ConfigurationError,
    MalformedResponseError,
    ModelError,
    RateLimitError,
    ServerError,
)
from rxagent.messages import UserMessage
from rxagent.models import OpenAIChat
from rxagent.operators import just
from rxagent.patience import RetryPolicy
from rxagent.requests import ChatRequest
from rxagent.runtime import Flow
from tests.servers import Answer, ChatServer, error, streamed

REQUEST = ChatRequest(messages=(UserMessage.of("hi"),))


def test_a_model_in_a_cycle_with_its_error_closes_its_connections(
    llmock: LLMock,
) -> None:
    """The server keeps them alive, and the traceback of an error holds the model."""
    llmock.outage(status=500)

    async def fail() -> weakref.ref[OpenAIChat]:
        model = OpenAIChat(model="m", retry=RetryPolicy(max_retries=0))
        with pytest.raises(ServerError) as raised:
            await Flow.of(just(REQUEST).pipe(model))
        assert raised.value.__traceback__ is not None
        return weakref.ref(model)

    async def scene() -> None:
        models = [await fail() for _ in range(3)]
        gc.collect()
        assert models[0]() is None
        while len(asyncio.all_tasks()) > 1:  # the clients close
            await asyncio.sleep(0)

    with warnings.catch_warnings(record=True, category=ResourceWarning) as found:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(scene())
        gc.collect()
    assert [str(each.message) for each in found] == []


KEY = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"
ONCE = RetryPolicy(max_retries=0)


def failure_of(answer: Answer, *, retry: RetryPolicy = ONCE) -> ModelError:
    with ChatServer(answer) as server:
        model = OpenAIChat(
            model="m", base_url=server.base_url, api_key=KEY, retry=retry
        )
        with pytest.raises(ModelError) as at:
            Flow.of(just(REQUEST).pipe(model)).run()
        assert len(server.asked) == 1
    return at.value


@pytest.mark.parametrize(
    "answer",
    [
        error(401, f"Incorrect API key provided: {KEY}."),
        error(400, "no", code=KEY),
        Answer(pieces=(json.dumps({"x": KEY}).encode(),)),
        Answer(pieces=(json.dumps({"x": " " * 60 + KEY}).encode(),)),
        Answer(status=429, headers={"x-request-id": KEY}),
    ],
    ids=["message", "code", "excerpt", "excerpt that is cut", "request id"],
)
def test_a_key_that_the_provider_repeats_is_not_shown(answer: Answer) -> None:
    """It may look like anything, so it is known by its value."""
    failure = failure_of(answer)

    shown = f"{failure!r} {failure} {vars(failure)}"
    assert KEY[:5] not in shown
    assert "[secret]" in shown


def test_an_error_whose_body_breaks_off_is_what_its_status_says() -> None:
    cut = Answer(status=401, pieces=(b'{"error":',), then="cut")
    busy = Answer(status=429, headers={"retry-after": "31"}, pieces=(b"{",), then="cut")

    denied = failure_of(cut, retry=RetryPolicy(base_s=0))
    assert isinstance(denied, AuthenticationError)
    assert denied.status == 401
    limited = failure_of(busy, retry=RetryPolicy(base_s=0))
    assert isinstance(limited, RateLimitError)
    assert limited.retry_after_s == 31


@pytest.mark.parametrize("status", [202, 204, 206])
def test_a_success_that_is_no_answer_says_what_it_is(status: int) -> None:
    failure = failure_of(Answer(status=status, pieces=(b'{"status": "queued"}',)))

    assert isinstance(failure, MalformedResponseError)
    assert failure.status == status
    assert f"answered {status}" in str(failure)


def test_a_redirect_says_where_it_points_and_shows_no_secret() -> None:
    to = "https://user:word@other.test/v2/chat?key=SECRET#SECRET"
    failure = failure_of(Answer(status=308, headers={"location": to}))

    assert "https://other.test/v2/chat" in str(failure)
    assert "SECRET" not in str(failure)
    assert "word" not in str(failure)


def test_a_provider_that_wants_no_retry_gets_none() -> None:
    busy = error(503, "no", headers={"x-should-retry": "false"})

    assert not failure_of(busy, retry=RetryPolicy(base_s=0)).retryable


@pytest.mark.parametrize("rest", ["?code=SECRET", "#SECRET", "?"])
def test_a_base_url_with_a_query_is_refused_and_not_shown(rest: str) -> None:
    with pytest.raises(ConfigurationError, match="before its '\\?'") as at:
        OpenAIChat(model="m", base_url=f"http://localhost/v1{rest}", api_key="k")
    assert "SECRET" not in str(at.value)


def test_a_user_and_a_password_are_sent_as_basic_authorization(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with ChatServer(streamed("ok")) as server:
        url = server.base_url.replace("//", "//user:PASS%2FWORD@")
        model = OpenAIChat(model="m", base_url=url, api_key="", retry=ONCE)
        Flow.of(just(REQUEST).pipe(model)).run()
        [asked] = server.asked

    login = b64encode(b"user:PASS/WORD").decode()
    assert asked.headers["authorization"] == f"Basic {login}"
    assert not [each for each in caplog.messages if "PASS" in each or login in each]


def test_a_password_and_a_key_are_one_too_many() -> None:
    with pytest.raises(ConfigurationError, match="leave out one") as at:
        OpenAIChat(model="m", base_url="http://user:WORD@host/v1", api_key="k")
    assert "WORD" not in str(at.value)


def test_a_client_that_the_caller_has_closed_is_told_apart() -> None:
    async def scene() -> None:
        client = httpx.AsyncClient()
        await client.aclose()
        model = OpenAIChat(
            model="m", base_url="http://localhost/v1", api_key="k", client=client
        )
        with pytest.raises(ConfigurationError, match=r"localhost/v1 is closed"):
            await Flow.of(just(REQUEST).pipe(model))

    asyncio.run(scene())
