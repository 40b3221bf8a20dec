"""Scripted conversations with tools, through a real agent."""

from __future__ import annotations

import asyncio
import json
from typing import TypeAlias

import pytest

from rxagent import Agent, tool
from rxagent.events import Finished, RoundFinished, ToolFinished
from rxagent.messages import Message, UserMessage
from rxagent.requests import ChatOptions
from tests.aimock.dialects import DIALECTS, by_dialect, by_stream
from tests.aimock.running import Aimock, Json
from tests.protocol.asking import Heard, hear

Understood: TypeAlias = tuple[str, object]


@tool
def weather(city: str) -> str:
    """Get the weather of a city."""
    return f"rain in {city}"


def called(*cities: str) -> list[Json]:
    return [{"name": "weather", "arguments": {"city": city}} for city in cities]


SCRIPT: tuple[Json, ...] = (
    {
        "match": {"userMessage": "Where", "hasToolResult": False},
        "response": {"content": "Let me look. ", "toolCalls": called("東京", "Oslo")},
    },
    {
        "match": {"userMessage": "Where", "toolResultContains": "Oslo"},
        "response": {"toolCalls": called("Zürich")},
    },
    {
        "match": {"userMessage": "Where", "toolResultContains": "Zürich"},
        "response": {"content": "It rains. 🌧"},
    },
    {
        "match": {"userMessage": "sure", "hasToolResult": False},
        "response": {"content": "I am."},
    },
)
CONVERSATION: list[Understood] = [
    ("system", "Be brief."),
    ("user", "Where does it rain?"),
    ("assistant", "Let me look. "),
    ("call", {"city": "東京"}),
    ("call", {"city": "Oslo"}),
    ("tool", "rain in 東京"),
    ("tool", "rain in Oslo"),
    ("call", {"city": "Zürich"}),
    ("tool", "rain in Zürich"),
    ("assistant", "It rains. 🌧"),
    ("user", "Are you sure?"),
]


def understood(body: Json) -> list[Understood]:
    """The messages of a request, in whatever dialect, as aimock has read them."""
    read: list[Understood] = []
    for message in body["messages"]:
        role, content = message["role"], message["content"]
        if role == "tool" and content.startswith('{"output":'):  # as Gemini wants it
            content = json.loads(content)["output"]
        if content:
            read.append((role, content))
        for call in message.get("tool_calls", ()):
            assert call["function"]["name"] == "weather"
            read.append(("call", json.loads(call["function"]["arguments"])))
    return read


async def converse(agent: Agent, *questions: str) -> list[Heard]:
    """Ask one thing after the other, with all that was said before."""
    messages: list[Message] = []
    heard: list[Heard] = []
    for question in questions:
        messages.append(UserMessage.of(question))
        heard.append(await hear(agent.stream(list(messages))))
        messages.extend(heard[-1].response.transcript)
    return heard


@by_dialect
@by_stream
def test_an_agent_runs_the_tools_and_the_next_turn_knows_of_them(
    aimock: Aimock, dialect: str, stream: bool
) -> None:
    aimock.script(*SCRIPT)
    agent = Agent(
        DIALECTS[dialect].at(aimock.url),
        system="Be brief.",
        tools=[weather],
        options=ChatOptions(stream=stream),
    )

    first, second = asyncio.run(converse(agent, "Where does it rain?", "Are you sure?"))

    assert first.text == "Let me look. It rains. 🌧"
    assert first.response.text == "It rains. 🌧"
    assert first.response.usage.requests == 3
    kinds = [type(event) for event in first.events]
    assert (kinds.count(RoundFinished), kinds.count(Finished)) == (2, 1)
    done = [each for each in first.events if isinstance(each, ToolFinished)]
    assert {each.value for each in done} == {
        f"rain in {city}" for city in ("東京", "Oslo", "Zürich")
    }
    assert second.response.text == "I am."
    assert aimock.statuses == [200] * 4
    bodies = [understood(entry["body"]) for entry in aimock.journal]
    assert bodies == [CONVERSATION[:length] for length in (2, 7, 9, 11)]


@by_dialect
def test_each_result_names_its_call(aimock: Aimock, dialect: str) -> None:
    aimock.script(*SCRIPT)
    agent = Agent(DIALECTS[dialect].at(aimock.url), tools=[weather])

    asyncio.run(converse(agent, "Where does it rain?"))

    messages = aimock.journal[-1]["body"]["messages"]
    calls = [
        call["id"] for message in messages for call in message.get("tool_calls", ())
    ]
    results = [each for each in messages if each["role"] == "tool"]
    assert len(calls) == len(results) == 3
    if dialect != "ollama":  # it pairs them by their order
        assert [each["tool_call_id"] for each in results] == calls


@by_dialect
def test_a_failed_tool_and_an_unknown_one_are_told_to_the_model(
    aimock: Aimock, dialect: str
) -> None:
    @tool
    def broken(city: str) -> str:
        """Fail."""
        raise ValueError(f"no map of {city}")

    calls = [
        {"name": "broken", "arguments": {"city": "Oslo"}},
        {"name": "nothing", "arguments": {}},
    ]
    aimock.say_in_turn({"toolCalls": calls}, {"content": "I cannot."})
    agent = Agent(DIALECTS[dialect].at(aimock.url), tools=[broken])

    [heard] = asyncio.run(converse(agent, "Go!"))

    assert heard.response.text == "I cannot."
    messages = aimock.journal[-1]["body"]["messages"]
    failed, unknown = [each["content"] for each in messages if each["role"] == "tool"]
    assert "no map of Oslo" in failed
    assert "the tools are: broken" in unknown


@by_dialect
def test_many_turns_at_once_do_not_mix(aimock: Aimock, dialect: str) -> None:
    """Law 7."""
    turns = 30
    for number in range(turns):
        user = {"userMessage": f"question {number}."}
        aimock.script(
            {
                "match": {**user, "hasToolResult": False},
                "response": {"toolCalls": called(f"city {number}")},
            },
            {
                "match": {**user, "toolResultContains": f"rain in city {number}"},
                "response": {"content": f"answer {number}"},
            },
        )
    agent = Agent(DIALECTS[dialect].at(aimock.url), tools=[weather])

    async def scene() -> list[str]:
        asked = (converse(agent, f"question {number}.") for number in range(turns))
        return [heard.response.text for [heard] in await asyncio.gather(*asked)]

    answers = asyncio.run(scene())

    assert answers == [f"answer {number}" for number in range(turns)]


THOUGHTS: dict[str, Json] = {
    "signed": {"reasoning": "Which city?", "reasoningSignature": "c2lnbmVk"},
    "redacted": {"redactedThinking": ["c2VjcmV0", "bW9yZQ=="]},
    "both": {
        "reasoning": "Which city?",
        "reasoningSignature": "c2lnbmVk",
        "redactedThinking": ["c2VjcmV0"],
    },
}


@by_stream
@pytest.mark.parametrize("thoughts", THOUGHTS.values(), ids=THOUGHTS)
def test_thoughts_go_back_to_anthropic_as_it_wants_them(
    aimock: Aimock, thoughts: Json, stream: bool
) -> None:
    """A strict aimock refuses a turn that does not begin with its signed thought."""
    aimock.say_in_turn(
        {**thoughts, "content": "Let me look. ", "toolCalls": called("Oslo")},
        {"content": "Rain."},
    )
    agent = Agent(
        DIALECTS["anthropic"].at(aimock.url),
        tools=[weather],
        options=ChatOptions(reasoning_effort="2048", stream=stream),
    )

    [heard] = asyncio.run(converse(agent, "Where?"))

    assert heard.response.text == "Rain."
    assert aimock.statuses == [200, 200]


@by_stream
def test_without_its_thought_a_turn_is_refused(aimock: Aimock, stream: bool) -> None:
    """So the test above can fail."""
    aimock.say_in_turn({"toolCalls": called("Oslo")}, {"content": "Rain."})
    agent = Agent(
        DIALECTS["anthropic"].at(aimock.url),
        tools=[weather],
        options=ChatOptions(reasoning_effort="2048", stream=stream),
    )

    heard = asyncio.run(hear(agent.stream("Where?")))

    assert "must begin with a `thinking` block" in str(heard.model_error)
