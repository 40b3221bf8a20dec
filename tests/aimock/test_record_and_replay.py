"""aimock records a real model behind our models, and answers in its place."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from rxagent import Agent, tool
from rxagent.advisors import schema_tools, tool_loop
from rxagent.events import ToolFinished
from rxagent.patience import RetryPolicy
from rxagent.requests import ChatOptions
from rxagent.types import Exchange
from tests.aimock.dialects import DIALECTS
from tests.aimock.running import running
from tests.protocol import llama_cpp
from tests.protocol.asking import Heard, ask, hear, request_of

# What llama.cpp's server speaks, and the option for it.
UPSTREAM = {
    "openai": "--provider-openai",
    "responses": "--provider-openai",
    "anthropic": "--provider-anthropic",
}
TOKENS = 12
# So that an answer is the same each time.
OPTIONS = ChatOptions(
    temperature=0, max_tokens=TOKENS, extra={"seed": 1, "cache_prompt": False}
)
STREAMED = request_of("Tell a long story.", options=OPTIONS)
WHOLE = request_of(
    "Name three animals.", options=OPTIONS.merged(ChatOptions(stream=False))
)

by_dialect = pytest.mark.parametrize("dialect", UPSTREAM)


@tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """What was said, and what aimock made of it.

    Args:
        folder: The fixtures.
        heard: Behind aimock.
        direct: From the model itself.
    """

    folder: Path
    heard: list[Heard]
    direct: list[Heard]


def model_at(url: str, dialect: str) -> Exchange:
    """One that asks again: aimock may use a connection that llama.cpp has closed."""
    return DIALECTS[dialect].at(url, retry=RetryPolicy(base_s=0.1))


def talk(url: str, dialect: str) -> list[Heard]:
    """One session with a server."""
    model = model_at(url, dialect)
    # A whole answer of this format is one that aimock cannot put on tape.
    answers = ask(model, STREAMED, *([] if dialect == "responses" else [WHOLE]))
    if dialect != "openai":  # llama.cpp holds no other format to a schema
        return answers
    agent = Agent(
        model,
        tools=[multiply],
        advisors=[tool_loop(), schema_tools()],
        options=OPTIONS.merged(ChatOptions(max_tokens=40)),
    )
    return [*answers, asyncio.run(hear(agent.stream("What is 127 times 89?")))]


@pytest.fixture(scope="module")
def tapes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tape]:
    """A tape for each dialect: a fixture answers all of them, whose ever it was."""
    tapes: dict[str, Tape] = {}
    with llama_cpp.running() as url:
        for dialect, upstream in UPSTREAM.items():
            folder = tmp_path_factory.mktemp(dialect)
            with running(folder, "--record", upstream, url) as recorder:
                heard = talk(recorder.url, dialect)
                asked = sum(each.response.usage.requests for each in heard)
                recorder.wait_for_tape(asked)
            direct = talk(url, dialect)
            tapes[dialect] = Tape(folder=folder, heard=heard, direct=direct)
    return tapes  # and the model is off


def tool_values(heard: Heard) -> list[object]:
    return [each.value for each in heard.events if isinstance(each, ToolFinished)]


@by_dialect
def test_a_recorder_between_changes_nothing(
    tapes: dict[str, Tape], dialect: str
) -> None:
    tape = tapes[dialect]

    for heard, direct in zip(tape.heard, tape.direct, strict=True):
        assert heard.text == direct.text != ""
        assert tool_values(heard) == tool_values(direct)
        assert heard.response.finish_reason == direct.response.finish_reason
        usage, other = heard.response.usage, direct.response.usage
        assert usage.prompt_tokens == other.prompt_tokens
        assert usage.output_tokens == other.output_tokens
    assert len(tape.heard[0].events) > TOKENS / 2


@by_dialect
def test_what_was_recorded_is_said_again_with_the_model_off(
    tapes: dict[str, Tape], dialect: str
) -> None:
    """But for counts and finish reasons, which not every tape has."""
    tape = tapes[dialect]

    with running(tape.folder, "--strict", "--replay-speed", "1000") as player:
        replayed = talk(player.url, dialect)
        statuses = player.statuses

    assert set(statuses) == {200}
    for again, heard in zip(replayed, tape.heard, strict=True):
        assert again.text == heard.text
        assert again.response.text == heard.response.text
        assert tool_values(again) == tool_values(heard)


def test_a_turn_with_a_tool_was_on_tape(tapes: dict[str, Tape]) -> None:
    """So that the tests above tell something of tools."""
    *_, turn = tapes["openai"].heard

    assert len(tool_values(turn)) == 1
    assert turn.response.usage.requests == 2


def test_what_is_not_on_tape_is_an_error(tapes: dict[str, Tape]) -> None:
    with running(tapes["openai"].folder, "--strict") as player:
        [heard] = ask(DIALECTS["openai"].at(player.url), request_of("Something else."))

    assert "no fixture matched" in str(heard.model_error)
