from __future__ import annotations

from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.events import ToolCallDelta
from rxagent.messages import ToolCall
from rxagent.requests import Origin
from rxagent.wire.tool_calls import ToolCallAssembler

ORIGIN = Origin(run_id="r")


class Piece(TypedDict, total=False):
    index: int | None
    id: str | None
    name: str | None
    arguments: str


Calls = list[tuple[str | None, str, str]]

MADE_UP = None

CASES: dict[str, tuple[list[Piece], Calls]] = {
    "pieces of one call": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": ""},
            {"index": 0, "arguments": '{"x":'},
            {"index": 0, "arguments": "1}"},
        ],
        [("a", "f", '{"x":1}')],
    ),
    "two calls interleaved": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": "{"},
            {"index": 1, "id": "b", "name": "g", "arguments": "{"},
            {"index": 0, "arguments": "}"},
            {"index": 1, "arguments": " }"},
        ],
        [("a", "f", "{}"), ("b", "g", "{ }")],
    ),
    "indexes need not begin at 0 or be in order": (
        [
            {"index": 7, "id": "a", "name": "f", "arguments": "{}"},
            {"index": 3, "id": "b", "name": "g", "arguments": "{}"},
        ],
        [("a", "f", "{}"), ("b", "g", "{}")],
    ),
    "the same index with another id": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": '{"x":1}'},
            {"index": 0, "id": "b", "name": "f", "arguments": '{"x":'},
            {"index": 0, "arguments": "2}"},
        ],
        [("a", "f", '{"x":1}'), ("b", "f", '{"x":2}')],
    ),
    "the id again with every piece": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": '{"x":'},
            {"index": 0, "id": "a", "name": "f", "arguments": '"{}{\\"'},
            {"index": 0, "id": "a", "name": "f", "arguments": '"}'},
        ],
        [("a", "f", '{"x":"{}{\\""}')],
    ),
    "the same id and another whole object": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": '{"x":1}'},
            {"index": 0, "id": "a", "name": "f", "arguments": '{"x":2}'},
        ],
        [("a", "f", '{"x":1}'), (MADE_UP, "f", '{"x":2}')],
    ),
    "the same id and the same whole object is the same call": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": '{"x":'},
            {"index": 0, "arguments": "1}"},
            {"index": 0, "id": "a", "name": "f", "arguments": '{"x":1}'},
        ],
        [("a", "f", '{"x":1}')],
    ),
    "the same id under two indexes": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": "{}"},
            {"index": 1, "id": "a", "name": "f", "arguments": "{}"},
        ],
        [("a", "f", "{}"), (MADE_UP, "f", "{}")],
    ),
    "whole objects under one index, without ids": (
        [
            {"index": 0, "name": "f", "arguments": '{"x":1}'},
            {"index": 0, "name": "g", "arguments": '{"y":2}'},
        ],
        [(MADE_UP, "f", '{"x":1}'), (MADE_UP, "g", '{"y":2}')],
    ),
    "no index, a bare piece continues": (
        [
            {"id": "a", "name": "f", "arguments": ""},
            {"arguments": '{"x":'},
            {"arguments": "1}"},
        ],
        [("a", "f", '{"x":1}')],
    ),
    "no index, a new id begins": (
        [
            {"id": "a", "name": "f", "arguments": "{"},
            {"id": "b", "name": "g", "arguments": "{}"},
            {"id": "a", "arguments": "}"},
        ],
        [("a", "f", "{}"), ("b", "g", "{}")],
    ),
    "no index and no id, a name begins": (
        [{"name": "f", "arguments": ""}, {"name": "g", "arguments": ""}],
        [(MADE_UP, "f", "{}"), (MADE_UP, "g", "{}")],
    ),
    "an index that counts pieces": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": '{"x":'},
            {"index": 1, "arguments": '"y'},
            {"index": 2, "arguments": '"}'},
        ],
        [("a", "f", '{"x":"y"}')],
    ),
    "a call whose arguments come first": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": "{}"},
            {"index": 1, "arguments": '{"x":1}'},
            {"index": 1, "name": "g"},
        ],
        [("a", "f", "{}"), (MADE_UP, "g", '{"x":1}')],
    ),
    "an empty id or name is absent": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": "{"},
            {"index": 0, "id": "", "name": "", "arguments": "}"},
            {"index": 0, "id": None, "name": None},
        ],
        [("a", "f", "{}")],
    ),
    "the id comes late": (
        [
            {"index": 0, "name": "f", "arguments": "{"},
            {"index": 0, "id": "a", "arguments": "}"},
        ],
        [("a", "f", "{}")],
    ),
    "the name comes in pieces, after arguments": (
        [
            {"index": 0, "id": "a", "arguments": '{"q"'},
            {"index": 0, "name": "web"},
            {"index": 0, "name": "_search", "arguments": ":1}"},
        ],
        [("a", "web_search", '{"q":1}')],
    ),
    "an empty object that opens the real one": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": "{}"},
            {"index": 0, "arguments": '{"x":'},
            {"index": 0, "arguments": "1}"},
        ],
        [("a", "f", '{"x":1}')],
    ),
    "no arguments at all": (
        [{"index": 0, "id": "a", "name": "f", "arguments": ""}],
        [("a", "f", "{}")],
    ),
    "blank space behind the object": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": "{}"},
            {"index": 0, "id": "a", "arguments": "\n"},
        ],
        [("a", "f", "{}\n")],
    ),
    "the same id, and an object behind an empty one": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": "{}"},
            {"index": 0, "id": "a", "name": "f", "arguments": '{"x":1}'},
        ],
        [("a", "f", "{}"), (MADE_UP, "f", '{"x":1}')],
    ),
    "the same id, and the start of an object behind an empty one": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": "{}"},
            {"index": 0, "id": "a", "name": "f", "arguments": '{"x":'},
            {"index": 0, "id": "a", "name": "f", "arguments": "1}"},
        ],
        [("a", "f", '{"x":1}')],
    ),
    "brackets and quotes in strings, cut anywhere": (
        [
            {"index": 0, "id": "a", "name": "f", "arguments": '{"x":"\\'},
            {"index": 0, "id": "a", "arguments": '"}'},
            {"index": 0, "id": "a", "arguments": '\\\\"}'},
            {"index": 0, "id": "a", "arguments": '{"y":[1]}'},
        ],
        [("a", "f", '{"x":"\\"}\\\\"}'), (MADE_UP, "", '{"y":[1]}')],
    ),
    "nothing": ([{"index": 0}, {"id": "", "name": "", "arguments": ""}], []),
}


def assemble(pieces: list[Piece]) -> tuple[list[ToolCallDelta], list[ToolCall]]:
    assembler = ToolCallAssembler(ORIGIN)
    deltas = [delta for piece in pieces if (delta := assembler.feed(**piece))]
    return deltas, assembler.calls(truncated=False)


@pytest.mark.parametrize(("pieces", "expected"), CASES.values(), ids=CASES)
def test_pieces_become_calls(pieces: list[Piece], expected: Calls) -> None:
    """S001-99, V-7."""
    _, calls = assemble(pieces)

    assert [(call.name, call.arguments) for call in calls] == [
        (name, arguments) for _, name, arguments in expected
    ]
    for call, (id_, _, _) in zip(calls, expected, strict=True):
        assert call.id == id_ or (id_ is MADE_UP and call.id.startswith("call_"))
    assert len({call.id for call in calls}) == len(calls)


@pytest.mark.parametrize(
    "name", [name for name in CASES if "empty one" not in name and "opens" not in name]
)
def test_the_deltas_of_a_call_join_to_the_call(name: str) -> None:
    deltas, calls = assemble(CASES[name][0])

    for position, call in enumerate(calls):
        mine = [delta for delta in deltas if delta.index == position]
        arguments = "".join(delta.arguments for delta in mine)
        assert (arguments or "{}") == call.arguments
        assert "".join(delta.name or "" for delta in mine) == call.name
        named = [delta.id for delta in mine if delta.id]
        assert named in ([], [call.id])
    assert all(delta.origin is ORIGIN for delta in deltas)


def test_a_cut_off_answer_marks_its_last_call_alone() -> None:
    assembler = ToolCallAssembler(ORIGIN)
    for index, name in enumerate("fg"):
        assembler.feed(index=index, id=name, name=name, arguments="{}")

    assert [call.truncated for call in assembler.calls(truncated=True)] == [False, True]
    assert [call.truncated for call in assembler.calls(truncated=False)] == [False] * 2


texts = st.text('{}[]"\\ab', max_size=8)


@given(
    st.lists(st.tuples(st.integers(0, 2), texts), max_size=20),
    st.booleans(),
)
def test_whatever_the_cut_pieces_of_an_index_join(
    pieces: list[tuple[int, str]], with_ids: bool
) -> None:
    """Ids on the first piece, or on each; arguments need not be JSON."""
    assembler = ToolCallAssembler(ORIGIN)
    texts: dict[int, str] = {}
    for index, text in pieces:
        first = index not in texts
        # An open object keeps the rules about whole ones out of this law.
        text = (
            '{"' + text.replace('"', "").replace("\\", "")
            if first
            else text.replace('"', "").replace("\\", "")
        )
        texts[index] = texts.get(index, "") + text
        named = first or with_ids
        assembler.feed(
            index=index,
            id=f"id{index}" if named else None,
            name=f"f{index}" if named else None,
            arguments=text,
        )

    found = {call.id: call.arguments for call in assembler.calls(truncated=False)}
    assert found == {f"id{index}": text for index, text in texts.items()}


def test_a_long_call_in_tiny_pieces_is_put_together_in_linear_time() -> None:
    """Its id comes with every piece, so that each one might begin another call."""
    pieces = 200_000
    assembler = ToolCallAssembler(ORIGIN)
    assembler.feed(index=0, id="a", name="f", arguments='{"x":"')
    for _ in range(pieces):
        assembler.feed(index=0, id="a", name="f", arguments="{}")
    assembler.feed(index=0, id="a", name="f", arguments='"}')

    [call] = assembler.calls(truncated=False)
    assert len(call.arguments) == 2 * pieces + 8
