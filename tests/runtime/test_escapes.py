"""What is no ordinary exception still ends the stream, and whoever waits is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from rxagent.agent import Agent
from rxagent.chain import before
from rxagent.requests import ChatRequest
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import tool


class Escape(BaseException):
    """As test frameworks end a test, or a program is interrupted."""


def escapes(*_: object) -> str:
    raise Escape("out")


def in_a_tool() -> Agent:
    @tool(name="t")
    def plain() -> str:
        """Run."""
        return escapes()

    model = ScriptedModel(Reply(calls=(tool_call("t"),)), "never")
    return Agent(model, tools=[plain])


def in_an_async_tool() -> Agent:
    @tool(name="t")
    async def on_the_loop() -> str:
        """Run."""
        return escapes()

    model = ScriptedModel(Reply(calls=(tool_call("t"),)), "never")
    return Agent(model, tools=[on_the_loop])


def in_an_advisor() -> Agent:
    def rewrite(request: ChatRequest) -> ChatRequest:
        escapes()
        return request

    return Agent(ScriptedModel("never"), advisors=[before(rewrite)])


def in_a_timer() -> Agent:
    def step(_: ChatRequest) -> Reply:
        return Reply(deltas=("a",), first_s=0.001)

    return Agent(ScriptedModel(step))


@pytest.mark.parametrize("make", [in_a_tool, in_an_async_tool, in_an_advisor])
def test_it_is_raised_where_the_stream_is_read(make: Callable[[], Agent]) -> None:
    async def awaited() -> None:
        await make().call("go")

    for read in (
        make().call("go").run,
        lambda: list(make().stream("go")),
        lambda: asyncio.run(awaited()),
    ):
        with pytest.raises(Escape, match="out"):
            read()


def test_it_is_raised_from_a_timer_too() -> None:
    with pytest.raises(Escape):
        in_a_timer().stream("go").map(escapes).run()


def test_other_streams_go_on() -> None:
    with pytest.raises(Escape):
        in_a_tool().call("go").run()

    assert Agent(ScriptedModel("fine")).call("go").run().text == "fine"
