"""That the reader of tool-loop cases can say no, and knows every behavior."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.case import Case, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.loops import check_tool_loop


def turn(text: str = "", *names: str) -> Json:
    calls = [{"id": name, "name": name, "arguments": "{}"} for name in names]
    return {"text": text, "tool_calls": calls, "finish_reason": "stop"}


def loop(expect: Json, behavior: Json, *turns: Json, **given: Any) -> Case:
    tools = [{"name": "f", "parameters": {"type": "object"}, "behavior": behavior}]
    script = [turn("", "f"), turn("end")]
    return Case(
        id="c",
        kind="tool-loop",
        protocol="",
        given={"tools": tools, "model_turns": turns or script, "user": "go", **given},
        expect=expect,
    )


def result(content: Any) -> Json:
    message = {"role": "tool", "tool_call_id": "f", "content": content}
    return {"requests": {"1": {"messages_end": [message]}}}


@pytest.mark.parametrize(
    ("behavior", "content"),
    [
        ({"returns": 7}, "7"),
        ({"returns": "x", "sleep_ms": 1}, "x"),
        ({"returns_python": "{'a': (1, 2)}"}, {"$json": {"a": [1, 2]}}),
        ({"returns_python": "cycle"}, {"$type": "string"}),
        ({"returns_sequence": ["p", "q"]}, "p"),
        ({"returns_repeat": {"text": "ab", "times": 2}}, "abab"),
        ({"raises": "ValueError", "message": "disk full"}, {"$contains": "disk full"}),
    ],
)
def test_each_behavior_has_its_result(behavior: Json, content: Any) -> None:
    check_tool_loop(loop(result(content), behavior), "as cut")
    with pytest.raises(AssertionError):
        check_tool_loop(loop(result("something else"), behavior), "as cut")


RIGHT: dict[str, Any] = {
    "final_text": "end",
    "tool_executions": [{"name": "f", "arguments": {}}],
    "tool_finished": ["f"],
    "requests_total": 2,
    "outcome": "ok",
    "ends_within_ms": 60_000,
    "invariants": ["paired-tools"],
    "requests": {"1": {"tool_contents_in_order": ["x"]}},
}
WRONG: dict[str, Any] = {
    "final_text": "start",
    "tool_executions": [],
    "tool_finished": [],
    "requests_total": 3,
    "outcome": "limit",
    "outcome_message": "x",
    "ends_within_ms": 0,
    "requests": {"1": {"tool_contents_in_order": []}},
}


@pytest.mark.parametrize("member", RIGHT)
def test_what_is_right_holds(member: str) -> None:
    check_tool_loop(loop({member: RIGHT[member]}, {"returns": "x"}), "as cut")


@pytest.mark.parametrize("member", WRONG)
def test_what_is_wrong_does_not_hold(member: str) -> None:
    with pytest.raises(AssertionError):
        check_tool_loop(loop({member: WRONG[member]}, {"returns": "x"}), "as cut")


def test_a_turn_may_end_at_a_limit_or_in_an_error_or_be_left() -> None:
    expect = {"outcome": "limit", "outcome_message": {"$contains": "rounds"}}
    limits = {"max_rounds": 2}
    endless = loop(
        expect, {"returns": 1}, turn("", "f"), limits=limits, repeat_last_turn=True
    )
    check_tool_loop(endless, "as cut")
    few = loop(
        {"outcome": "limit", "tool_executions": {"$len": 2}, "requests_total": 3},
        {"returns": 1},
        turn("", "f"),
        limits={"max_tool_calls": 2},
        repeat_last_turn=True,
    )
    check_tool_loop(few, "as cut")
    check_tool_loop(loop({"outcome": "error"}, {"returns": 1}, turn("", "f")), "as cut")
    left = loop(
        {"outcome": "cancelled", "tool_finished": [], "ends_within_ms": 5000},
        {"returns": 1, "sleep_ms": 60_000},
        cancel_after_ms=10,
    )
    check_tool_loop(left, "as cut")


def test_what_the_reader_does_not_know_is_not_passed_over() -> None:
    for case in (
        loop({"surprise": 1}, {"returns": 1}),
        loop({}, {"surprise": 1}),
        loop({}, {"returns": 1}, limits={"surprise": 1}),
        loop({"requests": {"0": {"surprise": 1}}}, {"returns": 1}),
    ):
        with pytest.raises(NotSupportedError):
            check_tool_loop(case, "as cut")
