from __future__ import annotations

import logging

import pytest

from rxagent.advisors import log, tool_loop
from rxagent.agent import Agent
from rxagent.testing import Reply, ScriptedModel, assert_advisor_laws, tool_call
from rxagent.tools import tool


@tool
def ping() -> str:
    """Answer."""
    return "pong"


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_a_turn_is_one_line_before_and_one_after(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """S000-91, S001-5: not one line per chunk."""
    model = ScriptedModel(Reply(deltas=tuple("hello")))

    with caplog.at_level(logging.INFO, "rxagent"):
        Agent(model, advisors=[log()], name="a").call("hi").run()

    assert lines(caplog) == [
        "a/round 0 -> 1 messages, 0 tools",
        "a/round 0 <- stop: 'hello'",
    ]


def test_inside_the_loop_every_round_is_logged_with_its_calls(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """S000-91, S001-9."""
    model = ScriptedModel(Reply(calls=(tool_call("ping"),)), "done")
    agent = Agent(model, tools=[ping], advisors=[tool_loop(), log()], name="a")

    with caplog.at_level(logging.INFO, "rxagent"):
        agent.call("hi").run()

    assert lines(caplog) == [
        "a/round 0 -> 1 messages, 1 tools (choice auto)",
        "a/round 0 <- tool_calls: calls ping",
        "a/round 1 -> 3 messages, 1 tools (choice auto)",
        "a/round 1 <- stop: 'done'",
    ]


def test_a_long_answer_is_cut_in_the_line(caplog: pytest.LogCaptureFixture) -> None:
    """S000-92."""
    with caplog.at_level(logging.INFO, "rxagent"):
        Agent(ScriptedModel("x" * 99), advisors=[log(preview_chars=3)]).call("?").run()

    assert lines(caplog)[1].endswith("stop: 'xxx…'")


def test_formatters_logger_and_level_are_the_callers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """S001-3."""
    advisor = log(
        logger=logging.getLogger("mine"),
        level=logging.DEBUG,
        format_request=lambda request: f"asks {request.messages[-1].text}",
        format_response=lambda response: f"says {response.text}",
    )
    with caplog.at_level(logging.DEBUG, "mine"):
        Agent(ScriptedModel("ho"), advisors=[advisor]).call("hi").run()

    assert [line.split(" ", 2)[2] for line in lines(caplog)] == [
        "-> asks hi",
        "<- says ho",
    ]


def test_a_formatter_that_raises_breaks_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """S001-4."""

    def fails(_: object) -> str:
        raise ValueError("unprintable")

    agent = Agent(
        ScriptedModel("ho"), advisors=[log(format_request=fails, format_response=fails)]
    )
    with caplog.at_level(logging.INFO, "rxagent"):
        assert agent.call("hi").run().text == "ho"

    assert ["ValueError: unprintable" in line for line in lines(caplog)] == [True] * 2


def test_an_error_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent(ScriptedModel(OSError("broken")), advisors=[log()], name="a")

    with caplog.at_level(logging.INFO, "rxagent"), pytest.raises(OSError, match="brok"):
        agent.call("hi").run()

    assert caplog.records[-1].levelno == logging.WARNING
    assert lines(caplog)[-1] == "a/round 0 <- OSError: broken"


def test_every_event_is_a_line_if_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    """S001-6."""
    agent = Agent(ScriptedModel(Reply(deltas=("a", "b"))), advisors=[log(events=True)])

    with caplog.at_level(logging.DEBUG, "rxagent"):
        agent.call("hi").run()

    assert sum("TextDelta" in line for line in lines(caplog)) == 2


def test_values_of_the_context_are_never_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """S001-123."""
    agent = Agent(ScriptedModel("ho"), advisors=[log(events=True)])

    with caplog.at_level(logging.DEBUG, "rxagent"):
        agent.call("hi", context={"token": "hunter2"}).run()

    assert "token" in caplog.text
    assert "hunter2" not in caplog.text


def test_it_changes_nothing_and_holds_the_laws() -> None:
    """S004-13."""
    assert_advisor_laws(log(events=True))
