"""That the reader of guardrail cases can say no, to each member that it knows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.case import Case, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.guards import check_guardrail


def case(expect: Json, *deltas: str, rules: list[Json] | None = None) -> Case:
    rule = {"action": "block", "pattern": "tulip"}
    given: Json = {"deltas": list(deltas), "rules": rules or [rule]}
    return Case(id="c", kind="guardrail", protocol="", given=given, expect=expect)


BLOCKED: Json = {
    "error": {"kind": "guardrail"},
    "emitted": {"$any": ["", "a", "a "]},
    "emitted_prefix_of": "a tulip",
    "never_emitted": ["tulip"],
    "completes": False,
    "guardrail_reports": 1,
    "error_on_await_result": True,
    "upstream_cancelled": True,
    "tool_executions": [],
}


def test_a_blocked_answer_is_what_all_members_say() -> None:
    check_guardrail(case(BLOCKED, "a tu", "lip"), "as cut")


@pytest.mark.parametrize(
    ("member", "wrong"),
    [
        ("error", None),
        ("emitted", "a tulip"),
        ("emitted_prefix_of", ""),
        ("never_emitted", ["a"]),
        ("completes", True),
        ("guardrail_reports", 0),
        ("error_on_await_result", False),
        ("upstream_cancelled", False),
        ("tool_executions", [{"name": "f"}]),
        ("items_before_completion", 9),
    ],
)
def test_each_member_is_looked_at(member: str, wrong: Any) -> None:
    with pytest.raises(AssertionError):
        check_guardrail(case({**BLOCKED, member: wrong}, "a tu", "lip"), "as cut")


def test_what_passes_is_not_reported() -> None:
    said: Json = {"emitted": "a rose", "completes": True, "guardrail_reports": 0}
    check_guardrail(case(said, "a ro", "se"), "as cut")


@pytest.mark.parametrize(
    "wrong",
    [
        case({"weight": 3}, "a"),
        case({"completes": True}, "a", rules=[{"action": "praise"}]),
    ],
)
def test_what_it_does_not_know_is_said(wrong: Case) -> None:
    with pytest.raises(NotSupportedError):
        check_guardrail(wrong, "as cut")
