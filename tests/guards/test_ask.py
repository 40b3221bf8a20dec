from __future__ import annotations

import pytest
from reactivex import operators as ops

from rxagent.agent import Agent
from rxagent.errors import GuardError, OutputError
from rxagent.events import TextDelta
from rxagent.guards import ask, guard, moderate
from rxagent.guards.verdicts import Verdict
from rxagent.messages import SystemMessage, UserMessage
from rxagent.testing import Reply, ScriptedModel


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("SAFE", True),
        ("safe", True),
        (" \n**Safe.**\n", True),
        ("unsafe", False),
        ("UNSAFE\nS1", "S1"),
        ("**Unsafe**: it insults\nsomebody", "it insults somebody"),
    ],
)
def test_the_answer_of_a_model_is_the_verdict(said: str, verdict: Verdict) -> None:
    found: list[Verdict] = []
    ask(ScriptedModel(said))("some text").subscribe(found.append)
    assert found == [verdict]


@pytest.mark.parametrize(
    "said", ["", "Safe? No, by no means.", "yes", "It is not safe", "unsafely"]
)
def test_any_other_answer_is_a_failure_and_no_verdict(said: str) -> None:
    found: list[Verdict] = []
    errors: list[Exception] = []
    ask(ScriptedModel(said))("some text").subscribe(found.append, errors.append)
    assert found == []
    assert [type(error) for error in errors] == [OutputError]


def test_the_text_is_the_users_message_and_the_rules_are_the_instructions() -> None:
    model = ScriptedModel("SAFE", "SAFE")

    for check in (ask(model), ask(model, "No {braces}. No insults.")):
        check("some {text}").subscribe()

    bare, ruled = model.requests
    assert bare.messages == (UserMessage.of("some {text}"),)
    assert isinstance(ruled.messages[0], SystemMessage)
    assert "No {braces}. No insults." in ruled.messages[0].text
    assert ruled.messages[1:] == bare.messages


def test_an_agent_checks_another_and_leaving_stops_both() -> None:
    judge = Agent(
        ScriptedModel("SAFE", Reply(deltas=("UNSAFE\ninsult",))), name="judge"
    )
    agent = Agent(
        ScriptedModel("You are kind. You are a fool."),
        advisors=[guard(moderate(ask(judge, "No insults."), max_concurrency=1))],
    )
    texts: list[str] = []

    def show(event: object) -> None:
        if isinstance(event, TextDelta):
            texts.append(event.text)

    with pytest.raises(GuardError, match="has stopped the answer: insult"):
        agent.stream("hi").pipe(ops.do_action(show)).run()
    assert texts == ["You are kind. "]
