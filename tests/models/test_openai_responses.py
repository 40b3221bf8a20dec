from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from reactivex import operators as ops

from rxagent import Agent, tool
from rxagent.errors import (
    ConfigurationError,
    ModelConnectionError,
    ModelError,
    ServerError,
    TruncatedStreamError,
)
from rxagent.events import ChatEvent, Finished, ReasoningDelta, TextDelta
from rxagent.messages import AssistantMessage, UserMessage
from rxagent.models import OpenAIResponses
from rxagent.operators import just
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest, Origin
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow
from tests.servers import Answer, ChatServer, error
from tests.wire.openai_responses.streams import (
    Item,
    Json,
    called,
    events_of,
    message,
    reasoning,
    response,
    sse,
)

REQUEST = ChatRequest(
    messages=(UserMessage.of("hi"),), origin=Origin(run_id="r", path=("a",))
)
KEY = "sk-test-very-secret"
SSE = {"content-type": "text/event-stream"}


def streamed(*items: Item, status: str = "completed", **members: Any) -> Answer:
    events = events_of(*items, status=status, **members)
    return Answer(headers=SSE, pieces=tuple(sse([event]) for event in events))


def whole(*items: Item) -> Answer:
    body = json.dumps(response(*items)).encode()
    return Answer(headers={"content-type": "application/json"}, pieces=(body,))


def begun(*items: Item, then: Any) -> Answer:
    """A stream that does not get beyond its last delta."""
    events = [
        each
        for each in events_of(*items)
        if not each["type"].endswith((".done", ".completed"))
    ]
    pieces = tuple(sse([event]) for event in events)
    return Answer(headers=SSE, pieces=pieces, then=then)


def model_of(server: ChatServer) -> OpenAIResponses:
    return OpenAIResponses(
        model="m",
        base_url=server.base_url,
        api_key=KEY,
        timeouts=Timeouts(gap_s=5.0),
        retry=RetryPolicy(max_retries=0),
    )


def ask(model: OpenAIResponses, request: ChatRequest = REQUEST) -> list[ChatEvent]:
    return list(Flow[ChatEvent].of(just(request).pipe(model)))


def inputs(server: ChatServer, number: int) -> list[Json]:
    found = server.asked[number].body["input"]
    assert isinstance(found, list)
    return found


def test_an_answer_streams_as_deltas_and_its_end() -> None:
    """Law 1."""
    with ChatServer(streamed(reasoning(["hm"]), message(["Hel", "lo"]))) as server:
        events = ask(model_of(server))

    assert events[:-1] == [
        ReasoningDelta(text="hm"),
        TextDelta(text="Hel"),
        TextDelta(text="lo"),
    ]
    end = events[-1]
    assert isinstance(end, Finished)
    assert (end.response.text, end.response.reasoning) == ("Hello", "hm")
    assert end.response.finish_reason == "stop"
    assert end.response.usage.total_tokens == 14
    assert end.response.transcript == (end.response.message,)
    assert {event.origin for event in events} == {REQUEST.origin}


def test_a_request_that_does_not_stream_differs_only_on_the_wire() -> None:
    """Law 3, S001-95."""
    plain = ChatRequest(messages=REQUEST.messages, options=ChatOptions(stream=False))
    said = message(["Hello"])
    with ChatServer(streamed(said), whole(said)) as server:
        in_pieces, at_once = ask(model_of(server)), ask(model_of(server), plain)

    assert at_once == in_pieces
    assert server.asked[0].body["stream"] is True
    assert server.asked[1].body["stream"] is False


def test_the_request_holds_the_model_the_key_and_the_conversation() -> None:
    with ChatServer(streamed(message(["ok"]))) as server:
        ask(model_of(server))

    [asked] = server.asked
    assert asked.path == "/v1/responses"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "m",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "input": [{"type": "message", "role": "user", "content": "hi"}],
    }


def test_two_subscriptions_are_two_requests() -> None:
    """Law 2."""
    with ChatServer(streamed(message(["ok"]))) as server:
        source = just(REQUEST).pipe(model_of(server))
        assert not server.asked
        assert list(Flow[ChatEvent].of(source)) == list(Flow[ChatEvent].of(source))

    assert len(server.asked) == 2


def test_an_agent_sends_reasoning_back_before_the_call_that_it_led_to() -> None:
    """M-57."""
    ran: list[str] = []

    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        ran.append(city)
        return f"22 degrees in {city}"

    thought = reasoning(["hm"], encrypted="gAAAsecret")
    call = called("weather", '{"city":', '"Oslo"}')
    script = streamed(thought, call), streamed(message(["It is 22."]))
    with ChatServer(*script) as server:
        agent = Agent(model_of(server), system="Be brief.", tools=[weather])
        answered = agent.call("weather?").run()

    assert ran == ["Oslo"]
    assert answered.text == "It is 22."
    assert answered.usage.requests == 2
    assert server.asked[1].body["instructions"] == "Be brief."
    assert inputs(server, 1) == [
        *inputs(server, 0),
        thought.whole,
        call.whole,
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": "22 degrees in Oslo",
        },
    ]


def test_a_conversation_goes_on_with_what_was_thought() -> None:
    thought, said = reasoning(["hm"]), message(["Oslo."])
    with ChatServer(streamed(thought, said)) as server:
        agent = Agent(model_of(server))
        first = agent.call("Where?").run()
        asked, again = UserMessage.of("Where?"), UserMessage.of("Sure?")
        agent.call((asked, first.message, again)).run()

    sent = inputs(server, 1)
    assert sent[1] == thought.whole
    assert sent[2]["id"] == said.whole["id"]


def test_key_and_address_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ChatServer(streamed(message(["ok"]))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        ask(OpenAIResponses(model="m"))

    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_missing_key_is_refused_when_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with pytest.raises(ConfigurationError, match="set OPENAI_API_KEY or pass api_key"):
        OpenAIResponses(model="m")
    with pytest.raises(ConfigurationError, match="name of a model"):
        OpenAIResponses(model="", api_key=KEY)


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ChatServer(streamed(message(["ok"]))) as server:
        ask(OpenAIResponses(model="m", base_url=server.base_url))

    assert "authorization" not in server.asked[0].headers


def test_the_key_is_in_no_repr_and_in_no_error() -> None:
    with ChatServer(error(401, f"Incorrect API key provided: {KEY}")) as server:
        model = model_of(server)
        with pytest.raises(ModelError) as at:
            ask(model)

    assert KEY not in repr(model) + str(at.value) + repr(at.value.__dict__)


def test_a_lost_connection_is_an_error_that_says_what_was_delivered() -> None:
    seen: list[ChatEvent] = []
    with (
        ChatServer(begun(message(["Hello wor"]), then="cut")) as server,
        pytest.raises((ModelConnectionError, TruncatedStreamError)) as at,
    ):
        seen.extend(Flow[ChatEvent].of(just(REQUEST).pipe(model_of(server))))

    assert at.value.delivered
    assert len(server.asked) == 1


def test_a_response_that_fails_is_an_error_with_its_cost() -> None:
    why = {"code": "server_error", "message": "The model broke."}
    failed = streamed(message(["a"]), status="failed", error=why)
    with ChatServer(failed) as server, pytest.raises(ServerError) as at:
        ask(model_of(server))

    assert "The model broke." in str(at.value)
    assert (at.value.delivered, at.value.retryable) == (True, True)
    assert at.value.usage is not None
    assert at.value.usage.output_tokens == 5


def test_leaving_closes_the_connection() -> None:
    """Law 5."""
    with ChatServer(begun(message(["one"]), then="hang")) as server:
        source = just(REQUEST).pipe(model_of(server), ops.take(1))
        assert Flow[ChatEvent].of(source).run() == TextDelta(text="one")
        assert server.hung_up.wait(5)


def test_many_streams_at_once_on_one_model() -> None:
    """Law 7."""
    with ChatServer(streamed(message([*"abcdef"]))) as server:
        agent = Agent(model_of(server))

        async def turn(number: int) -> ChatResponse:
            return await agent.call(str(number))

        async def scenario() -> list[AssistantMessage]:
            answers = await asyncio.gather(*map(turn, range(40)))
            return [each.message for each in answers]

        assert asyncio.run(scenario()) == [AssistantMessage.of("abcdef")] * 40
    assert len(server.asked) == 40
