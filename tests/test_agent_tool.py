"""Agents that are tools of other agents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from reactivex import Observable
from reactivex.testing import TestScheduler

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.chain import before
from rxagent.errors import ToolError
from rxagent.events import ChatEvent, TextDelta, ToolFinished, ToolProgress
from rxagent.messages import ToolMessage
from rxagent.requests import ChatRequest
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import tool
from rxagent.usage import Usage

ASK = Reply(
    calls=(tool_call("expert", prompt="why?"),),
    usage=Usage(output_tokens=1, requests=1),
)


def expert(*steps: str | Reply) -> Agent:
    return Agent(ScriptedModel(*steps), name="expert", system="You know.")


def test_its_answer_is_the_result_and_its_events_are_progress_with_both_paths() -> None:
    inner = expert(
        Reply(deltas=("be", "cause"), usage=Usage(output_tokens=5, requests=1))
    )
    model = ScriptedModel(
        ASK, Reply(deltas=("ok",), usage=Usage(output_tokens=2, requests=1))
    )
    outer = Agent(model, name="boss", tools=[inner.as_tool("expert", "Knows why.")])

    events = list(outer.stream("go"))

    progress = [each.value for each in events if isinstance(each, ToolProgress)]
    texts = [each for each in progress if isinstance(each, TextDelta)]
    assert [each.text for each in texts] == ["be", "cause"]
    assert {each.origin.path for each in texts} == {("boss", "expert")}
    assert {each.origin.run_id for each in texts} == {events[0].origin.run_id}
    done = next(each for each in events if isinstance(each, ToolFinished))
    assert done.message.text == "because"
    response = events[-1].response  # type: ignore[union-attr]
    assert response.text == "ok"
    assert response.usage.output_tokens == 8, "the expert's tokens count"
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "ok"


def test_the_prompt_is_the_only_argument_the_model_sees() -> None:
    made = expert("x").as_tool("expert", "Knows why.", timeout_s=5)

    assert list(made.parameters["properties"]) == ["prompt"]  # type: ignore[call-overload]
    assert made.rules.timeout_s == 5


def test_cancelling_the_outer_turn_cancels_the_inner_one() -> None:
    """Law 5."""
    scheduler = TestScheduler()
    waiting: Any = scheduler.create_hot_observable()

    @tool
    def wait() -> Observable[object]:
        """Wait."""
        return cast("Observable[object]", waiting)

    inner = Agent(ScriptedModel(Reply(calls=(tool_call("wait"),)), "x"), tools=[wait])
    outer = Agent(ScriptedModel(ASK, "y"), tools=[inner.as_tool("expert", "Knows.")])

    scheduler.start(lambda: outer.stream("go"), disposed=300)

    assert [each.unsubscribe for each in waiting.subscriptions] == [300]


def test_a_failure_of_the_inner_agent_is_a_result_of_the_outer() -> None:
    model = ScriptedModel(ASK, "sorry")
    outer = Agent(
        model,
        tools=[Agent(ScriptedModel(OSError("down"))).as_tool("expert", "Knows.")],
    )

    assert outer.call("go").run().text == "sorry"
    assert model.requests[1].messages[-1].text == "OSError: down"


def test_an_answer_handed_over_is_the_answer() -> None:
    """A hand-off: the other agent's answer goes out as it is."""
    handed = expert("I take over").as_tool("expert", "Takes over.", return_direct=True)
    model = ScriptedModel(ASK)

    response = Agent(model, tools=[handed]).call("go").run()

    assert (response.text, response.finish_reason) == ("I take over", "return_direct")
    assert len(model.requests) == 1


def test_two_agents_at_once_do_not_mix() -> None:
    """Law 7."""

    def echo(name: str) -> Agent:
        return Agent(
            ScriptedModel(lambda r: r.messages[-1].text.upper(), repeat_last=True),
            name=name,
        )

    calls = tuple(tool_call(n, prompt=n) for n in ("a", "b"))
    model = ScriptedModel(Reply(calls=calls), "done")
    agent = Agent(model, tools=[echo(n).as_tool(n, "Echo.") for n in ("a", "b")])

    agent.call("go").run()

    assert [each.text for each in model.requests[1].messages[-2:]] == ["A", "B"]


@pytest.mark.parametrize("limit", [1, 2])
def test_the_outer_limits_count_the_calls_of_the_outer(limit: int) -> None:
    inner = expert("a", "b")
    model = ScriptedModel(ASK, ASK, "done")
    outer = Agent(
        model,
        tools=[inner.as_tool("expert", "Knows.")],
        advisors=[tool_loop(max_calls=limit, on_limit="tell")],
    )
    events: list[ChatEvent] = list(outer.stream("go"))

    ran = [e for e in events if isinstance(e, ToolFinished) and e.attempts]
    assert len(ran) == limit


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    ("limits", "named"),
    [
        ({"max_calls": 3}, "max_calls"),
        ({"max_calls_per_tool": {"look_up": 2}}, "max_calls_per_tool"),
    ],
)
def test_calls_of_an_inner_agent_count_for_the_limits_of_the_outer(
    depth: int, limits: dict[str, Any], named: str
) -> None:
    @tool
    def look_up(key: str) -> str:
        """Look a key up."""
        return key

    twice = Reply(calls=tuple(tool_call("look_up", key=key) for key in "ab"))
    inner = Agent(ScriptedModel(twice, "found"), name="expert", tools=[look_up])
    for _ in range(depth - 1):
        asks = ScriptedModel(ASK, "asked")
        inner = Agent(asks, name="expert", tools=[inner.as_tool("expert", "Knows.")])
    once = Reply(calls=(tool_call("look_up", key="c"),))
    outer = Agent(
        ScriptedModel(ASK, once),
        tools=[inner.as_tool("expert", "Knows."), look_up],
        advisors=[tool_loop(**limits)],
    )

    response = outer.call("go").run()

    assert response.finish_reason == "tool_limit"
    assert response.limit is not None
    assert response.limit.name == named


def test_an_inner_agent_that_did_not_finish_is_a_failure_that_says_so() -> None:
    @tool(needs_approval=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    pays = Reply(calls=(tool_call("pay"),))
    waits = Agent(ScriptedModel(pays), tools=[pay])
    loops = Agent(
        ScriptedModel(pays, repeat_last=True),
        tools=[tool(pay.function, name="pay")],
        advisors=[tool_loop(max_rounds=1)],
    )
    for inner, says in ((waits, "waits for a decision"), (loops, "1 rounds of tools")):
        model = ScriptedModel(ASK, "sorry")
        Agent(model, tools=[inner.as_tool("expert", "Knows.")]).call("go").run()

        result = model.requests[1].messages[-1]
        assert isinstance(result, ToolMessage)
        assert result.is_error
        assert says in result.text


def test_agents_that_are_tools_of_one_another_do_not_ask_without_end() -> None:
    def with_itself(request: ChatRequest) -> ChatRequest:
        return replace(request, tools=(agent.as_tool("myself", "Knows."),))

    ask = Reply(calls=(tool_call("myself", prompt="why?"),))
    model = ScriptedModel(ask, repeat_last=True)
    agent = Agent(model, advisors=[before(with_itself), tool_loop()], name="me")

    with pytest.raises(ToolError, match=r"10 deep \(me / me / me / me\)"):
        agent.call("go").run()
    assert len(model.requests) == 10
