"""That the reader of cases can say no: each expectation alone, right and wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.cases.answers import check_retry_after, check_sse, check_wire
from tests.cases.case import Case, Json
from tests.cases.gaps import NotSupportedError

CALLS = [
    {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}},
    {"index": 1, "id": "b", "function": {"name": "f", "arguments": "{x"}},
]
DELTA = {"content": "Hi", "reasoning": "hm", "tool_calls": CALLS}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
CHUNK: Json = {"choices": [{"delta": DELTA, "finish_reason": "stop"}], "usage": USAGE}


def wire(expect: Json, *chunks: Any, status: int = 200, **given: Any) -> Case:
    headers = {"content-type": "text/event-stream"}
    return Case(
        id="c",
        kind="wire",
        protocol="openai-chat",
        given={
            "http": {"status": status, "headers": headers},
            "chunks": chunks or [f"data: {json.dumps(CHUNK)}\n\ndata: [DONE]\n\n"],
            **given,
        },
        expect=expect,
    )


RIGHT: dict[str, Any] = {
    "text": "Hi",
    "reasoning": "hm",
    "refusal": "",
    "role": "assistant",
    "finish_reason": "tool_calls",
    "finish_reason_raw": "stop",
    "error": None,
    "ids_unique": True,
    "max_seconds": 60,
    "automatic_retries": 0,
    "requests": 1,
    "invariants": ["utf8-encodable"],
    "usage": {"input": 3, "output": 2, "total": 5, "cached_input": None},
    "tool_calls": [
        {"id": "a", "name": "f", "arguments": {"x": 1}, "arguments_valid": True},
        {"arguments_valid": False, "arguments_raw": "{x"},
    ],
    "tool_executions": [{"name": "f", "arguments": {"x": 1}}],
}
WRONG: dict[str, Any] = {
    "text": "Ho",
    "reasoning": "",
    "refusal": "no",
    "role": "user",
    "finish_reason": "stop",
    "finish_reason_raw": "tool_calls",
    "error": {"kind": "server"},
    "max_seconds": 0,
    "automatic_retries": 1,
    "requests": 2,
    "usage": {"input": 2},
    "tool_calls": [{"id": "a"}],
    "tool_executions": [],
}


@pytest.mark.parametrize("member", RIGHT)
def test_what_is_right_holds(member: str) -> None:
    check_wire(wire({member: RIGHT[member]}), "as cut")


@pytest.mark.parametrize("member", WRONG)
def test_what_is_wrong_does_not_hold(member: str) -> None:
    with pytest.raises(AssertionError):
        check_wire(wire({member: WRONG[member]}), "as cut")


ERROR: Json = {
    "kind": "bad_request",
    "status": 400,
    "message_contains": "No x",
    "retryable": False,
}
BODY = '{"error": {"message": "No x"}}'


def test_an_error_is_compared_member_by_member() -> None:
    check_wire(wire({"error": ERROR}, BODY, status=400), "as cut")
    for name, value in {
        "kind": "server",
        "status": 401,
        "message_contains": "No y",
        "retryable": True,
    }.items():
        with pytest.raises(AssertionError):
            check_wire(
                wire({"error": {**ERROR, name: value}}, BODY, status=400), "as cut"
            )
    with pytest.raises(AssertionError, match="was to be None"):
        check_wire(wire({"error": None}, BODY, status=400), "as cut")


@pytest.mark.parametrize(
    "error",
    [
        {"kind": {"$regex": "."}},
        {"kind": {"$any": ["server", "bad_request"]}, "status": {"$lte": 499}},
        {"message_contains": {"$regex": "No .$"}},
        {"$any": [None, {"kind": "bad_request", "message_contains": "No x"}]},
        {"$not": None},
    ],
)
def test_an_error_may_be_compared_by_matchers(error: Json) -> None:
    check_wire(wire({"error": error}, BODY, status=400), "as cut")
    with pytest.raises(AssertionError):
        check_wire(wire({"error": {"$not": error}}, BODY, status=400), "as cut")


def test_an_answer_that_breaks_off_runs_no_tool() -> None:
    piece = json.dumps({"choices": [{"delta": {"tool_calls": CALLS}}]})
    expect: Json = {"tool_executions": [], "error": {"kind": "truncated"}}

    check_wire(wire(expect, f"data: {piece}\n\n"), "as cut")
    with pytest.raises(AssertionError):
        check_wire(wire({**expect, "error": None}, f"data: {piece}\n\n"), "as cut")


def test_a_lost_connection_is_an_error_behind_what_came() -> None:
    chunk = json.dumps({"choices": [{"delta": {"content": "a"}}]})
    expect: Json = {"text": "a", "error": {"kind": "connection"}}

    check_wire(
        wire(expect, f"data: {chunk}\n\n", {"delay_ms": 1}, {"fail": "reset"}), "as cut"
    )


def test_an_answer_of_gemini_is_read_and_its_tools_run() -> None:
    calls = [
        {"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "S"},
        {"functionCall": {"id": "b", "name": "g", "args": {}}},
    ]
    usage = {"promptTokenCount": 3, "candidatesTokenCount": 2, "thoughtsTokenCount": 4}
    chunk = {
        "candidates": [{"content": {"parts": calls}, "finishReason": "STOP"}],
        "usageMetadata": usage,
    }
    expect: Json = {
        "usage": {"input": 3, "output": 2, "reasoning": 4},
        "tool_executions": [
            {"name": "f", "arguments": {"x": 1}},
            {"name": "g", "arguments": {}},
        ],
        "invariants": ["paired-tools", "no-empty-assistant"],
    }
    case = wire(expect, f"data: {json.dumps(chunk)}\n\n")

    check_wire(replace(case, protocol="google-generate"), "as cut")
    for name, value in {"usage": {"output": 6}, "tool_executions": []}.items():
        wrong = replace(
            case, protocol="google-generate", expect={**expect, name: value}
        )
        with pytest.raises(AssertionError):
            check_wire(wrong, "as cut")


def test_what_the_reader_does_not_know_is_not_passed_over() -> None:
    with pytest.raises(NotSupportedError):
        check_wire(wire({"surprise": 1}), "as cut")
    with pytest.raises(NotSupportedError):
        check_wire(wire({}, options={"surprise": 0}), "as cut")


def test_attempts_are_counted_and_each_has_its_answer() -> None:
    busy = {"http": {"status": 503, "headers": {"retry-after": "0"}}, "chunks": ["{}"]}
    good = wire({}).given
    expect: Json = {"text": "Hi", "error": None, "automatic_retries": 1, "requests": 2}

    def asked(retries: int, expect: Json) -> Case:
        options = {"max_retries": retries}
        return wire(expect, attempts=[busy, good], options=options)

    check_wire(asked(1, expect), "as cut")
    check_wire(asked(0, {"error": {"kind": "overloaded"}, "requests": 1}), "as cut")
    for name, value in {"automatic_retries": 0, "requests": 1}.items():
        with pytest.raises(AssertionError):
            check_wire(asked(1, {**expect, name: value}), "as cut")


def test_events_and_delays_are_compared() -> None:
    given: Json = {"http": {"status": 200, "headers": {}}, "chunks": ["data: a\n\n"]}
    for data, is_right in (("a", True), ("b", False)):
        expect: Json = {"events": [{"event": "message", "data": data}]}
        case = Case(id="c", kind="sse", protocol="sse", given=given, expect=expect)
        holds(check_sse, case, is_right)
    row = {"status": 429, "headers": {"retry-after": "7"}}
    given = {"now": "Wed, 21 Oct 2026 07:28:00 GMT", "rows": [row]}
    for cap, delay, is_right in (
        ({}, 7, True),
        ({}, 8, False),
        ({"max_s": 7}, 7, True),
        ({"max_s": 6}, "refuse", True),
        ({"max_s": 6}, 6, False),
    ):
        case = Case(
            id="c",
            kind="retry-after",
            protocol="",
            given={**given, **cap},
            expect={"delays_s": [delay]},
        )
        holds(check_retry_after, case, is_right)


def holds(check: Any, case: Case, is_right: bool) -> None:
    if is_right:
        check(case, "as cut")
        return
    with pytest.raises(AssertionError):
        check(case, "as cut")
