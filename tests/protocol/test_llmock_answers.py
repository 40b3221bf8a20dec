"""OpenAIChat against llmock, a server of other people that speaks chat completions."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import jsonschema
import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall
from llmock.simulation import MockResponseSettings
from llmock.testing import LLMockServer
from pydantic_core import from_json

from rxagent import Agent, tool
from rxagent.events import Finished, RoundFinished, TextDelta, ToolFinished
from rxagent.messages import AssistantMessage, Message, ToolMessage, UserMessage
from rxagent.models import OpenAIChat
from rxagent.operators import just
from rxagent.patience import Timeouts
from rxagent.requests import ChatOptions
from rxagent.runtime import Flow, iterate
from rxagent.wire import parse_arguments
from tests.protocol.asking import ask, hear, hear_in_turn, request_of

ANSWER = "Grüezi, 東京 🚀 and the rest."
REQUEST = request_of("Where is the rocket today, and who is with it?")
PROVIDERS = ("openai", "mistral", "groq", "together", "perplexity", "ai21", "xai")

by_stream = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


def model_at(llmock: LLMock, provider: str = "openai") -> OpenAIChat:
    return OpenAIChat(
        model="gpt-4o",
        base_url=llmock.base_url(provider),
        api_key="k",
        timeouts=Timeouts(gap_s=10.0),
    )


def test_an_answer_streams_word_by_word_with_its_usage(llmock: LLMock) -> None:
    llmock.reply(ANSWER)

    [heard] = ask(model_at(llmock), REQUEST)

    assert heard.text == heard.response.text == ANSWER
    assert len(heard.events) > 3
    assert heard.response.finish_reason == heard.response.finish_reason_raw == "stop"
    assert heard.response.model == "gpt-4o"
    assert (heard.response.id or "").startswith("chatcmpl-")
    usage = heard.response.usage
    assert (usage.prompt_tokens, usage.output_tokens) == (11, len(ANSWER) // 4)
    assert usage.total_tokens == 11 + len(ANSWER) // 4
    assert usage.sure


def test_a_whole_answer_says_the_same(llmock: LLMock) -> None:
    """Law 3, S001-95."""
    llmock.reply(ANSWER, times=2)
    plain = request_of(REQUEST.messages[0].text, options=ChatOptions(stream=False))

    streamed, whole = ask(model_at(llmock), REQUEST, plain)

    assert whole.text == streamed.text == ANSWER
    assert whole.response.message == streamed.response.message
    assert whole.response.usage == streamed.response.usage
    assert whole.response.finish_reason == streamed.response.finish_reason
    assert [record.stream for record in llmock.requests] == [True, False]


@by_stream
@pytest.mark.parametrize("provider", PROVIDERS)
def test_each_provider_that_speaks_chat_completions_is_understood(
    llmock: LLMock, provider: str, stream: bool
) -> None:
    call = ToolCall("find", {"name": "Zoë 🚀", "near": [47.4, None]})
    llmock.reply(ANSWER).add(Reply(tool_calls=(call,)))
    request = request_of("Where?", options=ChatOptions(stream=stream))

    said, called = ask(model_at(llmock, provider), request, request)

    assert said.text == said.response.text == ANSWER
    assert said.response.finish_reason == "stop"
    [found] = called.response.tool_calls
    assert found.name == "find"
    assert parse_arguments(found.arguments) == call.arguments
    assert called.response.finish_reason == "tool_calls"
    assert {record.provider for record in llmock.requests} == {provider}


def test_the_variables_of_the_official_sdk_find_the_server(llmock: LLMock) -> None:
    llmock.reply(ANSWER)

    [heard] = ask(OpenAIChat(model="gpt-4o"), REQUEST)

    assert heard.text == ANSWER


def test_a_script_without_an_event_loop_reads_the_same(llmock: LLMock) -> None:
    llmock.reply(ANSWER)

    flow = Flow.of(just(REQUEST).pipe(model_at(llmock)))

    assert "".join(flow.text()) == ANSWER


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
    first, second = (record.body["messages"] for record in llmock.requests)
    assert second[: len(first)] == first
    asked, answered = second[len(first) :]
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert answered["content"] == f"rain in {city}"


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
    sent = llmock.last_request.body["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant"] + ["tool"] * 3
    assert [each["tool_call_id"] for each in sent[2:]] == [
        each["id"] for each in sent[1]["tool_calls"]
    ]
    assert [each["content"] for each in sent[2:]] == [f"rain in {c}" for c in cities]


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

    request = request_of(
        "Go!", tools=(first, second), options=ChatOptions(tool_choice=choice)
    )
    refused = request_of(
        "Go!", tools=(first, second), options=ChatOptions(tool_choice="none")
    )
    asked, not_asked = ask(model_at(llmock), request, refused)

    assert [call.name for call in asked.response.tool_calls] == [called]
    assert asked.response.finish_reason == "tool_calls"
    assert not_asked.response.tool_calls == ()
    assert not_asked.response.text != ""


def test_an_answer_meets_the_schema_that_was_asked_for(llmock: LLMock) -> None:
    schema: dict[str, object] = {
        "title": "Film",
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


def test_many_answers_at_once_do_not_mix(
    llmock: LLMock, llmock_server: LLMockServer
) -> None:
    """Law 7."""
    echo = MockResponseSettings(response_style="echo")
    llmock_server.app.state.mock_response_settings = echo
    model = model_at(llmock)
    texts = [f"message number {number}" for number in range(60)]

    async def scene() -> list[str]:
        heard = await asyncio.gather(
            *(hear_in_turn(model, request_of(text)) for text in texts)
        )
        return [each.response.text for [each] in heard]

    assert asyncio.run(scene()) == [f"Hello! You said: {text}" for text in texts]
    assert len(llmock.requests) == len(texts)


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


def test_a_long_conversation_is_sent_whole_in_each_turn(llmock: LLMock) -> None:
    llmock.reply("yes", times=None)
    agent = Agent(model_at(llmock), system="Be brief.")

    async def scene() -> None:
        messages: list[Message] = [UserMessage.of("0"), AssistantMessage.of("yes")]
        for turn in range(1, 6):
            heard = await hear(agent.stream([*messages, UserMessage.of(f"{turn}")]))
            end = heard.events[-1]
            assert isinstance(end, Finished)
            messages += [UserMessage.of(f"{turn}"), end.response.message]

    asyncio.run(scene())

    sent = llmock.last_request.body["messages"]
    assert sent[0] == {"role": "system", "content": "Be brief."}
    assert [each["content"] for each in sent[1::2]] == [f"{turn}" for turn in range(6)]
    assert {each["content"] for each in sent[2::2]} == {"yes"}
