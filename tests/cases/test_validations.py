"""The reader of cases about structured answers, on cases that are not handed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.case import Case
from tests.cases.validations import check_validation

SCHEMA = {"type": "object", "required": ["a"]}
USAGE = {"input": 3, "output": 2}
BAD, GOOD = {"text": "{}", "usage": USAGE}, {"text": '{"a": 1}', "usage": USAGE}


def case(*replies: Any, max_retries: int = 1, **expect: Any) -> Case:
    return Case(
        id="made",
        kind="validation",
        protocol="",
        given={
            "kind": "validation",
            "schema": SCHEMA,
            "max_retries": max_retries,
            "replies": list(replies),
        },
        expect=expect,
    )


GO = {"role": "user", "content": "go"}
TWICE = {"input": 6, "output": 4, "total": 10}


@pytest.mark.parametrize(
    "made",
    [
        case(
            BAD,
            GOOD,
            value={"a": 1},
            error=None,
            requests_total=2,
            request_1_contains=["{}", "a is missing"],
            last_request_max_chars=400,
            stored=[GO, {"role": "assistant", "content": '{"a": 1}'}],
            usage_total=TWICE,
        ),
        case(
            BAD,
            BAD,
            value=None,
            error={"kind": "validation", "message_contains": "a is missing"},
            requests_total=2,
            stored=[],
            usage_total=TWICE,
        ),
        case(
            {"text": "{", "finish_reason": "length"},
            error={"kind": "truncated", "message_contains": "cut off"},
            requests_total=1,
        ),
        case("", max_retries=0, error={"kind": "empty"}, requests_total=1),
        case("no", max_retries=0, error={"kind": "no_json"}, requests_total=1),
    ],
)
def test_a_case_that_holds_passes(made: Case) -> None:
    check_validation(made, "as cut")


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": {"a": 2}},
        {"requests_total": 1},
        {"request_1_contains": ["b is missing"]},
        {"last_request_max_chars": 10},
        {"stored": [GO]},
        {"usage_total": USAGE},
        {"error": {"kind": "validation"}},
    ],
)
def test_a_case_that_does_not_hold_fails(wrong: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        check_validation(case(BAD, GOOD, **wrong), "as cut")
