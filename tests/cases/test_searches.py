"""That the reader of tool-search cases can say no."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.case import Case, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.searches import check_tool_search


def turn(text: str = "", **calls: Json) -> Json:
    made = [
        {"id": name, "name": name, "arguments": str(arguments).replace("'", '"')}
        for name, arguments in calls.items()
    ]
    return {"text": text, "tool_calls": made, "finish_reason": "stop"}


def searching(expect: Json, **given: Any) -> Case:
    script = [
        turn(tool_search={"query": "mail"}),
        turn(send_mail={}, lost={}),
        turn("end"),
    ]
    given = {"catalog": ["send_mail", "pay"], "model_turns": script, **given}
    return Case(id="c", kind="tool-search", protocol="", given=given, expect=expect)


RIGHT: dict[str, Any] = {
    "final_text": "end",
    "requests_total": 3,
    "tool_executions_of": {"send_mail": 1, "pay": 0},
    "tool_executions": [{"name": "send_mail", "arguments": {}}],
    "requests": {
        "0": {"tools_sent": ["tool_search"], "last_tool_content": None},
        "1": {"tools_sent_sorted": ["send_mail", "tool_search"]},
        "2": {"last_tool_content": {"$contains": "'lost'"}},
    },
}
WRONG: dict[str, Any] = {
    "final_text": "start",
    "requests_total": 2,
    "tool_executions_of": {"send_mail": 0},
    "requests": {"0": {"tools_sent": ["pay", "send_mail"]}},
    "error": {"message_contains": "anything"},
    "tool_executions": [],
}


@pytest.mark.parametrize("member", RIGHT)
def test_what_is_right_holds(member: str) -> None:
    check_tool_search(searching({member: RIGHT[member]}), "as cut")


@pytest.mark.parametrize("member", WRONG)
def test_what_is_wrong_does_not_hold(member: str) -> None:
    with pytest.raises(AssertionError):
        check_tool_search(searching({member: WRONG[member]}), "as cut")


@pytest.mark.parametrize(
    "case",
    [
        searching({"surprise": 1}),
        searching({}, surprise=1),
        searching({}, index="surprise"),
        searching({"requests": {"0": {"surprise": 1}}}),
    ],
)
def test_what_the_reader_does_not_know_is_not_passed_over(case: Case) -> None:
    with pytest.raises(NotSupportedError):
        check_tool_search(case, "as cut")


def test_the_options_of_the_search_are_heeded() -> None:
    sent = {"requests": {"0": {"tools_sent": ["tool_search", "pay"]}}}
    check_tool_search(searching(sent, always_include=["pay"]), "as cut")
