from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import httpx
import pytest
from reactivex import operators as ops

from rxagent import Agent, tool
from rxagent.errors import (
    ConfigurationError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    TruncatedStreamError,
)
from rxagent.events import ChatEvent, Finished, ReasoningDelta, TextDelta
from rxagent.messages import AssistantMessage, Message, UserMessage
from rxagent.models import AnthropicChat
from rxagent.operators import just
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest, Origin
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow
from rxagent.wire import AnthropicDialect
from tests.messages_api import called, cut_off, error, never, streamed, thought, whole
from tests.servers import ChatServer

REQUEST = ChatRequest(
    messages=(UserMessage.of("hi"),), origin=Origin(run_id="r", path=("a",))
)
KEY = "sk-ant-very-secret"
VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def model_of(server: ChatServer, *, gap_s: float = 5.0) -> AnthropicChat:
    return AnthropicChat(
        model="m",
        base_url=server.base_url,
        api_key=KEY,
        timeouts=Timeouts(gap_s=gap_s),
        retry=RetryPolicy(max_retries=0),
    )


def known_by(given: dict[str, str], *, base_url: str) -> AnthropicChat:
    return AnthropicChat(
        model="m",
        base_url=base_url,
        api_key=given.get("api_key"),
        auth_token=given.get("auth_token"),
    )


def ask(model: AnthropicChat, request: ChatRequest = REQUEST) -> list[ChatEvent]:
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
    assert [asked.body["stream"] for asked in server.asked] == [True, False]


def test_the_request_holds_the_model_the_key_and_the_messages() -> None:
    with ChatServer(streamed("ok")) as server:
        ask(model_of(server))

    [asked] = server.asked
    assert asked.path == "/v1/messages"
    assert asked.headers["x-api-key"] == KEY
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in asked.headers
    assert asked.body["model"] == "m"
    assert asked.body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]}
    ]


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_the_address_may_end_in_v1_or_not(ending: str) -> None:
    with ChatServer(streamed("ok")) as server:
        url = server.base_url.removesuffix("/v1") + ending
        ask(AnthropicChat(model="m", base_url=url, api_key=KEY))

    assert server.asked[0].path == "/v1/messages"


def test_the_version_is_a_setting_of_the_dialect() -> None:
    dialect = AnthropicDialect(version="2026-10-21")
    with ChatServer(streamed("ok")) as server:
        ask(AnthropicChat(model="m", base_url=server.base_url, dialect=dialect))

    assert server.asked[0].headers["anthropic-version"] == "2026-10-21"


def test_the_options_of_a_request_name_another_model() -> None:
    request = ChatRequest(messages=REQUEST.messages, options=ChatOptions(model="big"))
    with ChatServer(streamed("ok")) as server:
        ask(model_of(server), request)

    assert server.asked[0].body["model"] == "big"


def test_an_agent_thinks_and_calls_a_tool_over_real_http() -> None:
    """M-57, ant-thinking-signature-pieces."""

    @tool
    def weather() -> str:
        """Tell the weather."""
        return "22 degrees"

    answers = thought("Use the tool.", "s==", "weather"), streamed("It is 22.")
    with ChatServer(*answers) as server:
        agent = Agent(model_of(server), tools=[weather])
        events = list(agent.stream("weather?"))

    assert ReasoningDelta(text="Use the tool.") in events
    end = events[-1]
    assert isinstance(end, Finished)
    assert end.response.text == "It is 22."
    assert end.response.usage.requests == 2
    first, second = (asked.body["messages"] for asked in server.asked)
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert second[:1] == first
    assert second[1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Use the tool.", "signature": "s=="},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": "22 degrees",
                }
            ],
        },
    ]


def test_the_text_beside_a_call_is_interim() -> None:
    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        return f"22 degrees in {city}"

    answers = called("weather", text="Let me look.", city="Oslo"), streamed("22.")
    with ChatServer(*answers) as server:
        response = Agent(model_of(server), tools=[weather]).call("weather?").run()

    assert response.text == "22."
    assert response.transcript[0].text == "Let me look."
    assert response.transcript[1].text == "22 degrees in Oslo"


def test_a_turn_that_the_server_paused_goes_on() -> None:
    """ant-pause-turn."""
    with ChatServer(streamed("So", stop_reason="pause_turn"), streamed("on")) as server:
        agent = Agent(model_of(server))
        paused = agent.call("go").run()
        messages: list[Message] = [UserMessage.of("go"), paused.message]
        rest = agent.call(messages).run()

    assert paused.finish_reason == "pause"
    assert (paused.text, rest.text) == ("So", "on")
    sent = server.asked[1].body["messages"]
    assert isinstance(sent, list)
    assert sent[-1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "So"}],
    }


def who_asks(given: dict[str, str]) -> dict[str, str]:
    """The headers that say who asks."""
    with ChatServer(streamed("ok")) as server:
        ask(known_by(given, base_url=server.base_url))
    headers = server.asked[0].headers
    return {name: headers[name] for name in _WHO if name in headers}


_WHO = ("x-api-key", "authorization")


@pytest.mark.parametrize(
    ("variables", "given", "sent"),
    [
        ({}, {}, {}),
        ({}, {"api_key": "k"}, {"x-api-key": "k"}),
        ({}, {"auth_token": "t"}, {"authorization": "Bearer t"}),
        ({"API_KEY": "k"}, {}, {"x-api-key": "k"}),
        ({"AUTH_TOKEN": "t"}, {}, {"authorization": "Bearer t"}),
        ({"API_KEY": "k", "AUTH_TOKEN": "t"}, {}, {"x-api-key": "k"}),
        ({"API_KEY": "k"}, {"auth_token": "t"}, {"authorization": "Bearer t"}),
        ({"AUTH_TOKEN": "t"}, {"api_key": "k\n"}, {"x-api-key": "k"}),
        ({"API_KEY": "k", "AUTH_TOKEN": "t"}, {"api_key": ""}, {}),
    ],
)
def test_a_key_or_a_token_is_given_or_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    given: dict[str, str],
    sent: dict[str, str],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"ANTHROPIC_{name}", value)

    assert who_asks(given) == sent


def test_a_key_and_a_token_are_one_too_many() -> None:
    with pytest.raises(ConfigurationError, match="and not both"):
        AnthropicChat(model="m", api_key="k", auth_token="t")


def test_the_address_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ChatServer(streamed("ok")) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        ask(AnthropicChat(model="m", api_key="k"))

    assert len(server.asked) == 1


def test_a_missing_key_or_model_is_refused_when_built() -> None:
    with pytest.raises(ConfigurationError, match="set ANTHROPIC_API_KEY or pass"):
        AnthropicChat(model="m")
    with pytest.raises(ConfigurationError, match="name of a model"):
        AnthropicChat(model="", api_key="k")


@pytest.mark.parametrize("base_url", ["localhost:1234", "ftp://host", "not a url"])
def test_an_address_that_is_none_is_refused_when_built(base_url: str) -> None:
    with pytest.raises(ConfigurationError, match="base_url"):
        AnthropicChat(model="m", base_url=base_url)


@pytest.mark.parametrize("name", ["api_key", "auth_token"])
def test_the_key_is_in_no_repr_and_in_no_error(name: str) -> None:
    refused = error(401, f"invalid x-api-key {KEY}", kind="authentication_error")
    with ChatServer(refused) as server:
        model = known_by({name: KEY}, base_url=server.base_url)
        with pytest.raises(ModelError) as at:
            ask(model)

    assert "very-secret" not in repr(model) + str(at.value) + repr(at.value.__dict__)
    with pytest.raises(ConfigurationError) as wrong:
        known_by({name: "sk-ant very-secret"}, base_url="http://127.0.0.1:1")
    assert "very-secret" not in str(wrong.value)


def test_an_overloaded_server_says_so_and_when_to_come_back() -> None:
    """The status 529 is Anthropic's own."""
    busy = error(
        529, "Overloaded", kind="overloaded_error", headers={"retry-after": "7"}
    )
    with ChatServer(busy) as server, pytest.raises(OverloadedError) as at:
        ask(model_of(server))

    found = at.value
    assert (found.status, found.code) == (529, "overloaded_error")
    assert (found.retry_after_s, found.retryable, found.delivered) == (7, True, False)
    assert found.request_id == "req_1"
    assert found.provider == server.base_url.split("/")[2]


def test_a_lost_connection_is_an_error_that_says_what_was_delivered() -> None:
    events: list[ChatEvent] = []
    with ChatServer(cut_off("Hello wor")) as server:
        source = just(REQUEST).pipe(model_of(server), ops.do_action(events.append))
        with pytest.raises((ModelConnectionError, TruncatedStreamError)) as at:
            Flow[ChatEvent].of(source).run()

    assert isinstance(at.value, ModelError)
    assert at.value.delivered
    assert events == [TextDelta(text="Hello wor")]
    assert len(server.asked) == 1


def test_a_silent_server_runs_out_of_time_and_the_clock_is_named() -> None:
    with ChatServer(never()) as server, pytest.raises(ModelTimeoutError) as at:
        ask(model_of(server, gap_s=0.05))

    assert (at.value.clock, at.value.limit_s) == ("gap", 0.05)


def test_leaving_closes_the_connection() -> None:
    """Law 5."""
    with ChatServer(never("one")) as server:
        source = just(REQUEST).pipe(model_of(server), ops.take(1))
        assert Flow[ChatEvent].of(source).run() == TextDelta(text="one")
        assert server.hung_up.wait(5)


def test_a_client_of_the_callers_is_used_and_stays_open() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        [body] = whole("hi").pieces
        return httpx.Response(200, headers={"content-type": "x/y"}, content=body)

    async def scenario() -> None:
        transport = httpx.MockTransport(handler)
        async with httpx.AsyncClient(transport=transport) as client:
            model = AnthropicChat(model="m", base_url="http://test", client=client)
            for _ in range(2):
                response = await Agent(model).call("hi")
                assert response.message == AssistantMessage.of("hi")
            assert not client.is_closed

    asyncio.run(scenario())


def test_many_streams_at_once_on_one_model() -> None:
    """Law 7."""
    with ChatServer(streamed(*"abcdef")) as server:
        agent = Agent(model_of(server))

        async def scenario() -> list[str]:
            calls: list[Awaitable[ChatResponse]] = [
                _await(agent.call(str(n))) for n in range(40)
            ]
            return [each.text for each in await asyncio.gather(*calls)]

        assert asyncio.run(scenario()) == ["abcdef"] * 40
    assert len(server.asked) == 40


async def _await(flow: Flow[ChatResponse]) -> ChatResponse:
    return await flow
