"""Tools whose result is the answer, as it is."""

from __future__ import annotations

import logging

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.context import Key
from rxagent.decisions import Reply as Replied
from rxagent.events import ToolFinished
from rxagent.messages import AssistantMessage, ToolMessage, UserMessage
from rxagent.operators import just
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import ToolContext, tool
from rxagent.usage import Usage

NOTICE = "「公告」 <b>§ 7</b> 【不得改动】 {as} [is]\n"
WHO = Key("who", str)


@tool(return_direct=True)
def notice(me: ToolContext) -> Observable[str]:
    """Return the notice, which nobody may change."""
    me.set(WHO, "notice")
    return just(NOTICE)


@tool(return_direct=True)
def say(text: str, seconds: float = 0.0) -> Observable[str]:
    """Say a text."""
    late = reactivex.timer(seconds).pipe(ops.map(lambda _: text))
    return late if seconds else just(text)


@tool
def plain() -> Observable[str]:
    """Return something."""
    return just("plain")


@tool(return_direct=True)
def broken() -> Observable[str]:
    """Break."""
    raise ValueError("broken")


def test_the_result_is_the_answer_character_for_character() -> None:
    """S000-8, S000-11, S003-18, S004-27, S001-68."""
    spent = Usage(input_tokens=3, output_tokens=4, requests=1)
    model = ScriptedModel(Reply(calls=(tool_call("notice"),), usage=spent))
    agent = Agent(model, tools=[notice])

    response = agent.call("go").run()

    assert response.text == NOTICE
    assert response.finish_reason == "return_direct"
    assert len(model.requests) == 1
    assert response.usage.total_tokens == 7
    assert response.context[WHO] == "notice"


def test_without_the_flag_the_model_may_rewrite_it() -> None:
    """S000-11."""
    free = tool(notice.function, name="notice")
    model = ScriptedModel(Reply(calls=(tool_call("notice"),)), "in short: a notice")

    assert Agent(model, tools=[free]).call("go").run().text == "in short: a notice"


def test_several_results_are_joined_in_the_order_of_the_calls() -> None:
    """S000-10, D-20: the parts are in the transcript, with id and name."""
    calls = (tool_call("say", text="late", seconds=0.02), tool_call("say", text="soon"))
    agent = Agent(ScriptedModel(Reply(calls=calls)), tools=[say])

    events = list(agent.stream("go"))

    order = [each.call.id for each in events if isinstance(each, ToolFinished)]
    assert order == ["call_0_1", "call_0_0"]
    response = events[-1].response  # type: ignore[union-attr]
    assert response.text == "late\nsoon"
    parts = [each for each in response.transcript if isinstance(each, ToolMessage)]
    assert [(p.tool_call_id, p.name, p.text) for p in parts] == [
        ("call_0_0", "say", "late"),
        ("call_0_1", "say", "soon"),
    ]


@pytest.mark.parametrize("other", ["plain", "broken", "unknown"])
def test_a_batch_with_another_or_a_failed_call_goes_back_to_the_model(
    other: str,
) -> None:
    """S000-9, M-62, M-65, V-16."""
    calls = (tool_call("say", text="x"), tool_call(other))
    model = ScriptedModel(Reply(calls=calls), "done")

    response = Agent(model, tools=[say, plain, broken]).call("go").run()

    assert (response.text, response.finish_reason) == ("done", "stop")
    assert len(model.requests) == 2


def test_the_transcript_ends_with_the_results() -> None:
    """S000-14: no further assistant message, so that a store reads as it happened."""
    model = ScriptedModel(Reply(calls=(tool_call("notice"),)), "about § 7")
    agent = Agent(model, tools=[notice])

    response = agent.call("go").run()

    assert [type(each) for each in response.transcript] == [
        AssistantMessage,
        ToolMessage,
    ]
    # S000-15: the next turn can be asked about it.
    history = [UserMessage.of("go"), *response.transcript, UserMessage.of("which?")]
    assert agent.call(history).run().text == "about § 7"


def test_approvals_and_writes_hold_for_it_too() -> None:
    """S000-12; a reply of a person is no result of the tool (V-16)."""
    gated = tool(return_direct=True, needs_approval=True)(say.function)
    loop = tool_loop(approve=lambda _: just(Replied("by hand")))
    model = ScriptedModel(Reply(calls=(tool_call("say", text="x"),)), "done")
    agent = Agent(model, tools=[gated], advisors=[loop])

    assert agent.call("go").run().text == "done"


def test_writes_of_one_round_that_meet_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """M-13."""

    @tool
    def mark(text: str, me: ToolContext) -> Observable[str]:
        """Mark."""
        me.set(WHO, text)
        return just(text)

    calls = (tool_call("mark", text="a"), tool_call("mark", text="b"))
    agent = Agent(ScriptedModel(Reply(calls=calls), "done"), tools=[mark])
    with caplog.at_level(logging.WARNING):
        response = agent.call("go").run()

    assert response.context[WHO] == "b"
    assert "overwrites 'who'" in caplog.text


def test_the_answer_is_delivered_too() -> None:
    """Law 4: whoever reads the text of a stream reads all of the answer."""
    agent = Agent(ScriptedModel(Reply(calls=(tool_call("notice"),))), tools=[notice])

    assert "".join(agent.stream("go").text()) == NOTICE


def test_the_answer_is_whole_where_results_for_the_model_are_cut() -> None:
    """S000-11."""
    text = "x" * 1_000

    @tool(return_direct=True)
    async def lookup(fails: bool) -> str:
        """Look it up."""
        if fails:
            raise ValueError(text)
        return text

    failed, found = (
        Reply(calls=(tool_call("lookup", fails=fails),)) for fails in (True, False)
    )
    loop = tool_loop(max_result_chars=100)
    model = ScriptedModel(failed, found)
    response = Agent(model, tools=[lookup], advisors=[loop]).call("go").run()

    assert response.text == text
    assert response.transcript[-1].text == text
    assert len(response.transcript[1].text) <= 100, "an error is for the model"
