from __future__ import annotations

import pytest

from rxagent.advisors import re_reading, tool_loop
from rxagent.agent import Agent
from rxagent.errors import ConfigurationError
from rxagent.messages import Image, Message, UserMessage
from rxagent.testing import Reply, ScriptedModel, assert_advisor_laws, tool_call
from rxagent.tools import tool


def asked(prompt: str | UserMessage, *, template: str | None = None) -> Message:
    model = ScriptedModel("ok")
    advisor = re_reading() if template is None else re_reading(template)
    Agent(model, advisors=[advisor]).call(prompt).run()
    return model.requests[0].messages[-1]


def test_the_question_is_asked_twice() -> None:
    """S000-93, S004-15."""
    assert asked("Why?") == UserMessage.of("Why?\nRead the question again: Why?")


def test_braces_in_the_question_survive() -> None:
    """S004-16."""
    question = "What is {x} in {question} of f'{y}' and {0}?"

    assert asked(question).text == f"{question}\nRead the question again: {question}"


def test_the_template_is_the_callers() -> None:
    """S000-94."""
    assert asked("Why?", template="{question} {{think}} {question}").text == (
        "Why? {{think}} Why?"
    )


def test_a_template_without_a_question_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"needs '\{question\}'"):
        re_reading("Read it again")


def test_a_message_with_media_is_left_alone() -> None:
    """S000-94, S004-16."""
    message = UserMessage.of("What is this?", Image(url="https://example.org/a.png"))

    assert asked(message) == message


def test_the_id_of_the_message_stays() -> None:
    message = UserMessage.of("Why?")

    assert asked(message).id == message.id


@tool
def ping() -> str:
    """Answer."""
    return "pong"


@pytest.mark.parametrize("inside", [False, True])
def test_a_turn_with_tools_is_read_again_once(inside: bool) -> None:
    """S000-93: once per turn, and not in each round."""
    model = ScriptedModel(Reply(calls=(tool_call("ping"),)), "done")
    advisors = [re_reading(), tool_loop()]
    if inside:
        advisors.reverse()
    response = Agent(model, tools=[ping], advisors=advisors).call("Why?").run()

    first, second = model.requests
    assert first.messages[0].text.count("Why?") == 2
    assert second.messages[0].text.count("Why?") == (1 if inside else 2)
    assert all("Why?" not in message.text for message in response.transcript)


def test_it_holds_the_laws() -> None:
    assert_advisor_laws(re_reading())
