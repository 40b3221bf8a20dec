"""Models that fail over real HTTP, and the ones that answer in their place."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from reactivex import operators as ops

from rxagent.agent import Agent
from rxagent.errors import (
    AuthenticationError,
    BadRequestError,
    OverloadedError,
    ServerError,
)
from rxagent.events import ChatEvent, Finished, Retracted, TextDelta
from rxagent.messages import UserMessage
from rxagent.models import (
    AnthropicChat,
    Fallback,
    GeminiChat,
    OllamaChat,
    OpenAIChat,
    OpenAIResponses,
)
from rxagent.operators import just
from rxagent.patience import RetryPolicy
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.runtime import Flow
from rxagent.tools import tool
from rxagent.types import Exchange
from tests import messages_api
from tests.servers import ChatServer, cut_off, error, never, streamed

QUESTION = ChatRequest(messages=(UserMessage.of("hi"),))
TWICE = RetryPolicy(max_retries=1, base_s=0.0)


def claude(server: ChatServer) -> AnthropicChat:
    return AnthropicChat(
        model="claude", base_url=server.base_url, api_key="k1", retry=TWICE
    )


def gpt(server: ChatServer) -> OpenAIChat:
    return OpenAIChat(model="gpt", base_url=server.base_url, api_key="k2", retry=TWICE)


def test_a_busy_provider_is_asked_again_and_then_another_one() -> None:
    busy = messages_api.error(529, "busy", kind="overloaded_error")
    with ChatServer(busy) as first, ChatServer(streamed("fine")) as second:
        agent = Agent(Fallback(claude(first), gpt(second)))
        response = agent.call("hi", options=ChatOptions(model="claude-big")).run()

    assert (response.text, response.model) == ("fine", "test-model")
    assert [asked.body["model"] for asked in first.asked] == ["claude-big"] * 2
    assert [asked.body["model"] for asked in second.asked] == ["gpt"]


def test_a_wrong_key_is_told_at_once() -> None:
    wrong = messages_api.error(401, "wrong key", kind="authentication_error")
    with ChatServer(wrong) as first, ChatServer(streamed("fine")) as second:
        agent = Agent(Fallback(claude(first), gpt(second)))
        with pytest.raises(AuthenticationError):
            agent.call("hi").run()

    assert (len(first.asked), second.asked) == (1, [])


def test_a_connection_that_is_lost_in_the_middle_voids_what_came() -> None:
    """No retry: text is out."""
    with ChatServer(cut_off("Wro")) as first, ChatServer(streamed("Right")) as second:
        events = list(Agent(Fallback(gpt(first), gpt(second))).stream("hi"))

    assert [type(each) for each in events] == [
        TextDelta,
        Retracted,
        TextDelta,
        Finished,
    ]
    assert isinstance(events[-1], Finished)
    assert events[-1].response.text == "Right"
    assert not events[-1].response.usage.sure
    assert len(first.asked) == 1


def test_if_all_providers_fail_the_error_leads_to_those_before() -> None:
    busy = error(503, "first is busy")
    broke = error(500, "second broke")
    with ChatServer(busy) as first, ChatServer(broke) as second:
        agent = Agent(Fallback(gpt(first), gpt(second)))
        with pytest.raises(ServerError, match="second broke") as at:
            agent.call("hi").run()

    before = at.value.__context__
    assert isinstance(before, OverloadedError)
    assert "first is busy" in str(before)
    assert (at.value.attempts, before.attempts) == (2, 2)


def test_leaving_the_second_model_closes_its_connection() -> None:
    """Law 5."""
    with ChatServer(error(503, "busy")) as first, ChatServer(never("one")) as second:
        source = just(QUESTION).pipe(Fallback(gpt(first), gpt(second)), ops.take(1))
        assert Flow[ChatEvent].of(source).run() == TextDelta(text="one")
        assert second.hung_up.wait(5)


OTHERS: dict[str, Callable[[ChatServer], Exchange]] = {
    "OpenAIChat": gpt,
    "OpenAIResponses": lambda server: OpenAIResponses(
        model="m", base_url=server.base_url, api_key="k"
    ),
    "GeminiChat": lambda server: GeminiChat(
        model="m", base_url=f"{server.url}/v1beta", api_key="k"
    ),
    "OllamaChat": lambda server: OllamaChat(model="m", base_url=server.url),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_history_of_one_vendor_goes_to_another_without_what_was_signed(
    name: str,
) -> None:
    @tool
    def weather() -> str:
        """Tell the weather."""
        return "22 degrees"

    called = messages_api.thought("THEIRS", "SIGNED", "weather")
    busy = messages_api.error(529, "busy", kind="overloaded_error")
    with (
        ChatServer(called, busy) as first,
        ChatServer(error(400, "enough")) as second,
    ):
        model = Fallback(claude(first), OTHERS[name](second))
        agent = Agent(model, tools=[weather])
        with pytest.raises(BadRequestError):
            agent.call("weather?").run()

    (asked,) = second.asked
    told = json.dumps(asked.body)
    assert "22 degrees" in told
    assert told.count('"weather"') >= 2  # the tool, and its call
    assert "THEIRS" not in told
    assert "SIGNED" not in told
    assert "SIGNED" in json.dumps(first.asked[1].body)
