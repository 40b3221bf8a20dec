from __future__ import annotations

import pytest

from tests.cases.case import Json
from tests.cases.invariants import check_invariants, neutral_messages, strings

ALL = [
    "paired-tools",
    "valid-json-args",
    "system-first-once",
    "no-empty-assistant",
    "utf8-encodable",
]
SYSTEM: Json = {"role": "system", "content": "s"}
USER: Json = {"role": "user", "content": "u"}
EMPTY: Json = {"role": "assistant", "content": ""}


def asked(*ids: str, arguments: str = "{}") -> Json:
    calls = [{"id": each, "name": "f", "arguments": arguments} for each in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(id_: str) -> Json:
    return {"role": "tool", "tool_call_id": id_, "content": "r"}


def test_a_good_request_holds_all() -> None:
    messages = [SYSTEM, USER, asked("a", "b"), result("b"), result("a"), USER]

    check_invariants(ALL, messages)
    check_invariants(ALL, [])


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("paired-tools", [USER, asked("a")]),
        ("paired-tools", [USER, asked("a"), USER, result("a")]),
        ("paired-tools", [USER, asked("a"), result("a"), result("a")]),
        ("paired-tools", [USER, result("a")]),
        ("paired-tools", [USER, asked("a", "a"), result("a")]),
        ("valid-json-args", [asked("a", arguments="[]"), result("a")]),
        ("system-first-once", [USER, SYSTEM]),
        ("system-first-once", [SYSTEM, SYSTEM]),
        ("no-empty-assistant", [EMPTY]),
        ("utf8-encodable", [{"role": "user", "content": ["a", {"t": "\ud83d"}]}]),
    ],
)
def test_a_bad_request_breaks_its_own(name: str, messages: list[Json]) -> None:
    with pytest.raises(AssertionError):
        check_invariants([name], messages)
    check_invariants([each for each in ALL if each != name], messages)


def test_an_unknown_invariant_does_not_hold() -> None:
    with pytest.raises(KeyError):
        check_invariants(["wished-for"], [])


def test_messages_of_the_wire_are_read_in_the_neutral_form() -> None:
    function = {"name": "f", "arguments": "{}"}
    call = {"id": "a", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}

    assert neutral_messages({"messages": [USER, message]}) == [
        {**USER, "tool_calls": []},
        asked("a"),
    ]


def test_strings_are_found_at_any_depth() -> None:
    assert list(strings({"a": ["b", {"c": ("d", 1, None)}]})) == ["a", "b", "c", "d"]
