from __future__ import annotations

import logging
import operator
from itertools import permutations

import pytest

from rxagent.context import Context, Key, Write
from rxagent.errors import ContextTypeError, ToolError
from rxagent.messages import ToolCall
from rxagent.tools.state import folded
from tests.tools.scene import calling

LAST = Key("last", str)
TOTAL = Key("total", int, reduce=operator.add)
NAMES = Key("names", list, reduce=operator.add)
FIRST, SECOND, THIRD = (calling(name, id=name) for name in ("one", "two", "three"))


def test_a_key_with_reduce_folds_what_is_there_with_each_write() -> None:
    """S000-6, M-13."""
    writes = [(FIRST, Write(TOTAL, 1)), (SECOND, Write(TOTAL, 10))]

    assert folded(Context({"total": 100}), writes) == Context({"total": 111})
    assert folded(Context(), writes) == Context({"total": 11})
    assert folded(Context({"total": None}), writes) == Context({"total": 11})


def test_none_sets_back_what_is_folded() -> None:
    writes = [(FIRST, Write(TOTAL, None)), (SECOND, Write(TOTAL, 2))]

    assert folded(Context({"total": 100}), writes[:1]) == Context({"total": None})
    assert folded(Context({"total": 100}), writes) == Context({"total": 2})


@pytest.mark.parametrize("order", [*permutations([FIRST, SECOND, THIRD])])
def test_the_fold_is_in_the_order_that_is_given(order: tuple[ToolCall, ...]) -> None:
    """M-13."""
    writes = [(call, Write(NAMES, [call.name])) for call in order]

    after = folded(Context({"names": ["zero"]}), writes)

    assert after[NAMES] == ["zero", *(call.name for call in order)]


def test_without_reduce_the_last_counts_and_a_conflict_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """M-13."""
    writes = [(FIRST, Write(LAST, "a secret")), (SECOND, Write(LAST, "another"))]

    with caplog.at_level(logging.WARNING, logger="rxagent.tools"):
        after = folded(Context({"last": "before"}), writes)

    assert after[LAST] == "another"
    (record,) = caplog.records
    assert record.message == (
        "tool 'two' overwrites 'last', which tool 'one' wrote in the same round; "
        "give the key a reduce to keep both"
    )


def test_two_calls_of_one_tool_are_a_conflict_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    same = calling("one", id="other")

    with caplog.at_level(logging.WARNING, logger="rxagent.tools"):
        folded(Context(), [(FIRST, Write(LAST, "a")), (same, Write(LAST, "b"))])

    assert len(caplog.records) == 1


class Table:
    """Like a frame of numbers: it has no one answer to whether it is equal."""

    def __eq__(self, _: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


TABLE = Key("table", Table)


@pytest.mark.parametrize(
    "writes",
    [
        [(FIRST, Write(LAST, "a")), (SECOND, Write(LAST, "a"))],
        [(FIRST, Write(LAST, "a")), (FIRST, Write(LAST, "b"))],
        [(FIRST, Write(TOTAL, 1)), (SECOND, Write(TOTAL, 2))],
        [(FIRST, Write(LAST, "a")), (SECOND, Write(TOTAL, 2))],
        [(FIRST, Write(TABLE, Table()))],
    ],
    ids=["same value", "same call", "reduced", "other key", "alone"],
)
def test_what_is_no_conflict_is_not_logged(
    writes: list[tuple[ToolCall, Write]], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="rxagent.tools"):
        folded(Context(), writes)

    assert caplog.records == []


def test_values_that_cannot_be_compared_are_a_conflict(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second = Table(), Table()

    with caplog.at_level(logging.WARNING, logger="rxagent.tools"):
        after = folded(
            Context(), [(FIRST, Write(TABLE, first)), (SECOND, Write(TABLE, second))]
        )

    assert after[TABLE] is second
    assert len(caplog.records) == 1


def test_the_context_before_does_not_change() -> None:
    before = Context({"total": 1})

    folded(before, [(FIRST, Write(TOTAL, 1))])

    assert before == Context({"total": 1})


def test_what_a_reduce_does_wrong_is_an_error() -> None:
    def no(_: int, __: int) -> int:
        raise LookupError("no")

    def text(_: int, __: int) -> int:
        return "text"  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    before = Context({"total": 1})
    with pytest.raises(ToolError, match="'one' wrote 'total', and the key's reduce"):
        folded(before, [(FIRST, Write(Key("total", int, reduce=no), 1))])
    with pytest.raises(ContextTypeError, match="total"):
        folded(before, [(FIRST, Write(Key("total", int, reduce=text), 1))])
