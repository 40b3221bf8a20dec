from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import AsyncIterator

import httpx
import pytest
from reactivex import operators as ops

from rxagent import Agent, tool
from rxagent.errors import (
    ConfigurationError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    TruncatedStreamError,
)
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.messages import UserMessage
from rxagent.models import OpenAIChat
from rxagent.operators import just
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest, Origin
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow
from tests.servers import ChatServer, called, cut_off, error, never, streamed, whole

REQUEST = ChatRequest(
    messages=(UserMessage.of("hi"),), origin=Origin(run_id="r", path=("a",))
)
KEY = "sk-test-very-secret"


ONCE = RetryPolicy(max_retries=0)


def model_of(
    server: ChatServer,
    *,
    timeouts: Timeouts = Timeouts(gap_s=5.0),
    retry: RetryPolicy = ONCE,
) -> OpenAIChat:
    return OpenAIChat(
        model="m",
        base_url=server.base_url,
        api_key=KEY,
        timeouts=timeouts,
        retry=retry,
    )


def open_clients() -> list[int]:
    """By address: to hold them would keep them open."""
    # By type: some object of another test may answer isinstance with an error.
    found: list[httpx.AsyncClient] = [
        each for each in gc.get_objects() if issubclass(type(each), httpx.AsyncClient)
    ]
    return [id(each) for each in found if not each.is_closed]


def ask(model: OpenAIChat, request: ChatRequest = REQUEST) -> list[ChatEvent]:
    return list(Flow[ChatEvent].of(just(request).pipe(model)))


def test_an_answer_streams_as_deltas_and_its_end() -> None:
    with ChatServer(streamed("Hel", "lo")) as server:
        events = ask(model_of(server))

    assert events[:-1] == [TextDelta(text="Hel"), TextDelta(text="lo")]
    end = events[-1]
    assert isinstance(end, Finished)
    assert end.response.text == "Hello"
    assert end.response.finish_reason == "stop"
    assert end.response.usage.total_tokens == 12
    assert end.response.transcript == (end.response.message,)
    assert {event.origin for event in events} == {REQUEST.origin}


def test_a_request_that_does_not_stream_differs_only_on_the_wire() -> None:
    """Law 3, S001-95."""
    plain = ChatRequest(messages=REQUEST.messages, options=ChatOptions(stream=False))
    with ChatServer(streamed("Hello"), whole("Hello")) as server:
        in_pieces, at_once = ask(model_of(server)), ask(model_of(server), plain)

    assert at_once == in_pieces
    assert server.asked[0].body["stream"] is True
    assert server.asked[1].body.get("stream", False) is False


def test_the_request_holds_the_model_the_key_and_the_messages() -> None:
    with ChatServer(streamed("ok")) as server:
        ask(model_of(server))

    [asked] = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body["model"] == "m"
    assert asked.body["messages"] == [{"role": "user", "content": "hi"}]


def test_the_options_of_a_request_name_another_model() -> None:
    request = ChatRequest(messages=REQUEST.messages, options=ChatOptions(model="big"))
    with ChatServer(streamed("ok")) as server:
        ask(model_of(server), request)

    assert server.asked[0].body["model"] == "big"


def test_an_agent_with_a_tool_over_real_http() -> None:
    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        return f"22 degrees in {city}"

    with ChatServer(called("weather", city="Oslo"), streamed("It is 22.")) as server:
        response = Agent(model_of(server), tools=[weather]).call("weather?").run()

    assert response.text == "It is 22."
    assert response.usage.requests == 2
    sent = server.asked[1].body["messages"]
    assert isinstance(sent, list)
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[2]["content"] == "22 degrees in Oslo"


def test_key_and_address_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ChatServer(streamed("ok")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        ask(OpenAIChat(model="m"))

    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_proxy_of_the_environment_does_not_stand_before_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    with ChatServer(streamed("ok")) as server:
        assert ask(model_of(server))[0] == TextDelta(text="ok")


def test_a_missing_key_is_refused_when_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with pytest.raises(ConfigurationError, match="set OPENAI_API_KEY or pass api_key"):
        OpenAIChat(model="m")


def test_a_model_without_a_name_is_refused_when_built() -> None:
    with pytest.raises(ConfigurationError, match="the name of a model"):
        OpenAIChat(model="", base_url="http://127.0.0.1:1/v1")


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ChatServer(streamed("ok")) as server:
        ask(OpenAIChat(model="m", base_url=server.base_url))

    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    "base_url",
    ["localhost:1234/v1", "ftp://host", "http://", "http://host:port/v1", "not a url"],
)
def test_an_address_that_is_none_is_refused_when_built(base_url: str) -> None:
    with pytest.raises(ConfigurationError, match="base_url"):
        OpenAIChat(model="m", base_url=base_url)


def test_the_key_is_in_no_repr_and_in_no_error() -> None:
    with ChatServer(error(401, f"Incorrect API key provided: {KEY}")) as server:
        model = model_of(server)
        with pytest.raises(ModelError) as at:
            ask(model)

    assert KEY not in repr(model)
    assert KEY not in str(at.value)
    assert KEY not in repr(at.value.__dict__)


@pytest.mark.parametrize(
    "key", ["sk-sec\nret", "sk-secrét", "“sk-secret”", "sk secret"]
)
def test_a_key_that_is_none_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigurationError, match="API key") as at:
        OpenAIChat(model="m", base_url="http://127.0.0.1:1/v1", api_key=key)

    assert "sk" not in str(at.value)


def test_a_newline_behind_the_key_is_no_part_of_it() -> None:
    with ChatServer(streamed("ok")) as server:
        ask(OpenAIChat(model="m", base_url=server.base_url, api_key=f"{KEY}\n"))

    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_password_in_the_address_is_shown_nowhere() -> None:
    url = "http://user:hunter2@127.0.0.1:1/v1"
    model = OpenAIChat(model="m", base_url=url, retry=ONCE)

    with pytest.raises(ModelConnectionError, match=r"127\.0\.0\.1:1") as at:
        ask(model)

    assert "hunter2" not in repr(model) + str(at.value) + repr(at.value.__dict__)
    with pytest.raises(ConfigurationError) as wrong:
        OpenAIChat(model="m", base_url="ftp://user:hunter2@host")
    assert "hunter2" not in str(wrong.value)


def test_errors_name_the_server_that_was_asked() -> None:
    missing = error(404, "no such model")
    with ChatServer(missing) as server, pytest.raises(ModelError) as at:
        ask(model_of(server))

    assert at.value.provider == server.base_url.split("/")[2]
    assert at.value.provider in str(at.value)


def test_a_lost_connection_is_an_error_that_says_what_was_delivered() -> None:
    with ChatServer(cut_off("Hello wor")) as server:
        events: list[ChatEvent] = []
        errors: list[Exception] = []
        done = threading.Event()

        def fail(error: Exception) -> None:
            errors.append(error)
            done.set()

        just(REQUEST).pipe(model_of(server)).subscribe(events.append, fail)
        assert done.wait(5)

    [lost] = errors
    assert isinstance(lost, ModelConnectionError | TruncatedStreamError)
    assert lost.delivered
    assert events == [TextDelta(text="Hello wor")]
    assert len(server.asked) == 1


def test_an_error_before_anything_came_says_so() -> None:
    slow_down = error(429, "slow down", headers={"retry-after": "7"})
    with ChatServer(slow_down) as server, pytest.raises(ModelError) as at:
        ask(model_of(server))

    assert not at.value.delivered
    assert at.value.retry_after_s == 7
    assert at.value.retryable


def test_a_silent_server_runs_out_of_time_and_the_clock_is_named() -> None:
    with (
        ChatServer(never()) as server,
        pytest.raises(ModelTimeoutError, match=r"nothing came.*raise gap_s") as at,
    ):
        ask(model_of(server, timeouts=Timeouts(gap_s=0.05)))

    assert (at.value.clock, at.value.limit_s) == ("gap", 0.05)
    assert at.value.retryable


def test_a_redirect_is_not_followed_and_says_where_to() -> None:
    elsewhere = error(307, "moved", headers={"location": "http://127.0.0.1:1/v1"})
    with ChatServer(elsewhere) as server, pytest.raises(ModelError, match="307"):
        ask(model_of(server))


def test_leaving_closes_the_connection() -> None:
    """Law 5."""
    with ChatServer(never("one")) as server:
        source = just(REQUEST).pipe(model_of(server), ops.take(1))
        assert Flow[ChatEvent].of(source).run() == TextDelta(text="one")
        assert server.hung_up.wait(5)


def test_one_model_serves_one_loop_after_the_other() -> None:
    """A client belongs to a loop, and is closed with it: warnings are errors here."""
    with ChatServer(streamed("ok")) as server:
        agent = Agent(model_of(server))

        async def turn() -> str:
            return (await agent.call("hi")).text

        assert [asyncio.run(turn()) for _ in range(3)] == ["ok"] * 3
        assert agent.call("hi").run().text == "ok"


def test_clients_go_with_their_loop_and_with_their_model() -> None:
    with ChatServer(streamed("ok")) as server:
        model = model_of(server)

        async def turn() -> None:
            await Flow[ChatEvent].of(just(REQUEST).pipe(model))

        asyncio.run(turn())
        asyncio.run(turn())

        others = set(open_clients())  # of other tests, that close on the portal

        async def model_of_a_request() -> None:
            await Flow[ChatEvent].of(just(REQUEST).pipe(model_of(server)))
            gc.collect()
            for _ in range(50):
                await asyncio.sleep(0)
            assert set(open_clients()) <= others

        asyncio.run(model_of_a_request())


def test_first_requests_at_once_share_one_client_also_with_certificates() -> None:
    model = OpenAIChat(model="m", base_url="https://127.0.0.1:1/v1", retry=ONCE)
    others = set(open_clients())

    async def scenario() -> None:
        answers = [Flow[ChatEvent].of(just(REQUEST).pipe(model)) for _ in range(3)]
        failures = await asyncio.gather(*map(_end, answers))
        assert all(isinstance(each, ModelConnectionError) for each in failures)
        assert len(set(open_clients()) - others) == 1

    asyncio.run(scenario())


async def _end(flow: Flow[ChatEvent]) -> Exception | None:
    try:
        await flow
    except ModelError as error:
        return error
    return None


def test_a_client_of_the_callers_is_used_and_stays_open() -> None:
    class Stream(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            chunk = {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}
            yield b"data: " + json.dumps(chunk).encode() + b"\n\n"

    def handler(request: httpx.Request) -> httpx.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=headers, stream=Stream())

    async def scenario() -> None:
        transport = httpx.MockTransport(handler)
        async with httpx.AsyncClient(transport=transport) as client:
            model = OpenAIChat(model="m", base_url="http://test/v1", client=client)
            for _ in range(2):
                response = await Agent(model).call("hi")
                assert response.text == "hi"
            assert not client.is_closed

    asyncio.run(scenario())


def test_many_streams_at_once_on_one_model() -> None:
    """Law 7."""
    with ChatServer(streamed(*"abcdef")) as server:
        agent = Agent(model_of(server))

        async def scenario() -> list[str]:
            calls = [agent.call(str(n)) for n in range(40)]
            return [each.text for each in await asyncio.gather(*map(_await, calls))]

        assert asyncio.run(scenario()) == ["abcdef"] * 40
    assert len(server.asked) == 40


async def _await(flow: Flow[ChatResponse]) -> ChatResponse:
    return await flow
