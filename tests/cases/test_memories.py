"""That the readers of memory cases can say no."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.case import Case, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.memories import check_memory, check_memory_run


def said(role: str, content: str = "", **more: object) -> Json:
    return {"role": role, "content": content, **more}


def called(id_: str) -> Json:
    call = {"id": id_, "name": "t", "arguments": "{}"}
    return said("assistant", tool_calls=[call])


ADDED = [
    said("user", "one"),
    called("x"),
    said("tool", "r", tool_call_id="x"),
    said("assistant", "first"),
    said("user", "two"),
]


def window(expect: Json, **given: object) -> Case:
    more = {"add": ADDED, "window": {"max_messages": 3}, **given}
    given = {"kind": "memory", **more}
    return Case(id="c", kind="memory", protocol="", given=given, expect=expect)


def run(expect: Json, *turns: Json, **given: object) -> Case:
    given = {"kind": "memory-run", "turns": turns or TURNS, **given}
    return Case(id="c", kind="memory-run", protocol="", given=given, expect=expect)


TURNS = [
    {"user": "a", "reply": {"text": "A"}},
    {"user": "b", "reply": {"text_then_error": "par"}},
    {"user": "c", "reply": {"text": "C"}},
]
RIGHT: dict[str, Any] = {
    "window": [said("user", "two")],
    "window_alternatives": [[], [said("user", "two")]],
    "request_messages_last_turn": [said("user", "two")],
    "first": said("user"),
    "last": said("user", "two"),
    "max_len": 1,
    "contains_in_order": ["two"],
    "invariants": ["paired-tools"],
}
RIGHT["first"] = {"role": "user"}
WRONG: dict[str, Any] = {
    "window": ADDED,
    "window_alternatives": [[], ADDED],
    "request_messages_last_turn": [],
    "first": {"role": "assistant"},
    "last": {"role": "tool"},
    "max_len": 0,
    "contains_in_order": ["two", "one"],
}


@pytest.mark.parametrize("member", RIGHT)
def test_a_right_window_holds(member: str) -> None:
    check_memory(window({member: RIGHT[member]}), "as cut")


@pytest.mark.parametrize("member", WRONG)
def test_a_wrong_window_does_not_hold(member: str) -> None:
    with pytest.raises(AssertionError):
        check_memory(window({member: WRONG[member]}), "as cut")


@pytest.mark.parametrize("mid_run", [True, [said("tool", "r", tool_call_id="y")]])
def test_a_turn_that_is_open_stays_whole(mid_run: object) -> None:
    added = [*ADDED, called("y")]
    if mid_run is True:
        added += [said("tool", "r", tool_call_id="y")]
    expect = {"contains_in_order": [{"content": "two"}, {"role": "tool"}], "max_len": 3}
    check_memory(window(expect, add=added, mid_run=mid_run), "as cut")


def test_a_conversation_without_an_open_turn_is_what_the_next_one_sees() -> None:
    expect = {"last": {"content": "first"}, "max_len": 4}
    check_memory(window(expect, add=ADDED[:-1]), "as cut")


def test_instructions_stand_in_every_turn_and_are_sent_once() -> None:
    given = {"system": "s", "turns": [ADDED[:4], ADDED[4:]], "add": []}
    sent = [said("system", "s"), {"role": "user"}]
    check_memory(window({"request_messages_last_turn": sent}, **given), "as cut")


RUN_RIGHT: dict[str, Any] = {
    "request_messages": {"0": [said("user", "a")]},
    "request_sizes": [1, 3, 3],
    "stored_after_turn": [2, 2, 4],
    "stored": [{"content": text} for text in "aAcC"],
    "last_text": "C",
    "error_reaches_consumer": True,
    "invariants_on_request": ["no-empty-assistant"],
}
RUN_WRONG: dict[str, Any] = {
    "request_messages": {"2": []},
    "request_sizes": [1, 3, 5],
    "stored_after_turn": [2, 4, 6],
    "stored": [],
    "last_text": "A",
    "error_reaches_consumer": False,
}


@pytest.mark.parametrize("member", RUN_RIGHT)
def test_what_is_right_of_a_run_holds(member: str) -> None:
    check_memory_run(run({member: RUN_RIGHT[member]}), "as cut")


@pytest.mark.parametrize("member", RUN_WRONG)
def test_what_is_wrong_of_a_run_does_not_hold(member: str) -> None:
    with pytest.raises(AssertionError):
        check_memory_run(run({member: RUN_WRONG[member]}), "as cut")


def test_a_turn_may_be_left_between_its_results_and_begin_with_rounds() -> None:
    left = {
        "user": "b",
        "reply": {"tool_calls": ["p", "q"], "results_before_cancel": ["p"]},
    }
    rounds = {"user": "c", "reply_rounds": [["x", "y"], ["z"]], "reply": {"text": "C"}}
    expect = {
        "stored_after_turn": [2, 9],
        "request_sizes": [4, 4, 7, 9],
        "last_text": "C",
        "invariants_on_request": ["paired-tools", "valid-json-args"],
    }
    given = [said("user", "a"), called("dangling")]
    check_memory_run(run(expect, left, rounds, given=given), "as cut")


def test_what_the_readers_do_not_know_is_not_passed_over() -> None:
    for case in (
        window({"surprise": 1}),
        window({}, surprise=1),
        window({}, window={"max_tokens": 1}),
    ):
        with pytest.raises(NotSupportedError):
            check_memory(case, "as cut")
    for case in (
        run({"surprise": 1}),
        run({}, surprise=1),
        run({}, {"user": "a", "reply": {"surprise": 1}}),
        run({}, {"user": "a", "reply": {"text": ""}, "surprise": 1}),
        run({}, {"user": "a", "reply": {"tool_calls": [], "surprise": 1}}),
    ):
        with pytest.raises(NotSupportedError):
            check_memory_run(case, "as cut")
