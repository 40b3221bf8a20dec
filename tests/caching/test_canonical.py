"""The same text only for what is equal."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import KEEP, Enum, Flag, IntFlag
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.caching.canonical import canonical
from rxagent.errors import RequestError


class Colour(Enum):
    RED = 1


class Right(IntFlag):
    READ = 1


class Kept(Flag, boundary=KEEP):
    READ = 1


def shade(value: int) -> Enum:
    """Of a type that is made anew, under the same name."""

    class Shade(Enum):
        DARK = value

    return Shade.DARK


class Number(Enum):
    ODD = object()


@dataclass(frozen=True)
class Tenant:
    id: str
    seen: int = field(default=0, compare=False)


@dataclass(frozen=True)
class User:
    id: str


ALL_DIFFERENT: list[object] = [
    None,
    "null",
    "",
    0,
    0.0,
    False,
    "0",
    b"0",
    [],
    {},
    set(),
    [[]],
    [None],
    ["a", "b"],
    ["ab"],
    ["a,b"],
    {"a": 1},
    {"a": "1"},
    {1: 1},
    {"1": 1},
    {"a": {"b": 1}},
    {"a"},
    Tenant("a"),
    User("a"),
    {"id": "a"},
    Colour.RED,
    Right(0),
    Right(1),
    Right(8),
    Right(9),
    Right(16),
    Right(17),
    Kept(0),
    Kept(8),
    Kept(9),
    Kept(17),
    shade(1),
    shade(2),
    date(2026, 1, 1),
    "2026-01-01",
    Decimal("1.0"),
    Decimal("1.00"),
    Path("a"),
    UUID(int=1),
    "\ud83d",
    "\ud83e",
    "\ufffd",
]


def test_what_differs_has_another_text() -> None:
    texts = [canonical(each) for each in ALL_DIFFERENT]
    assert len(set(texts)) == len(ALL_DIFFERENT)
    assert all(each.isascii() for each in texts)


def test_order_and_what_does_not_count_for_equality_are_all_the_same() -> None:
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})
    assert canonical({"a", "b"}) == canonical({"b", "a"})
    assert canonical((1, 2)) == canonical([1, 2])
    assert canonical(Tenant("a", 1)) == canonical(Tenant("a", 2))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_equal_texts_are_of_equal_values(one: object, other: object) -> None:
    if canonical(one) == canonical(other):
        assert one == other


def test_what_has_no_value_of_its_own_is_refused_by_its_kind() -> None:
    with pytest.raises(RequestError, match=r"builtins\.object has no digest"):
        canonical({"a": [object()]})
    with pytest.raises(RequestError, match=r"builtins\.object has no digest"):
        canonical(Number.ODD)
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(RequestError, match="holds itself"):
        canonical(loop)


def test_no_secret_is_in_the_error() -> None:
    class Secret(str):
        """A text of another kind, whose equality is its own."""

    with pytest.raises(RequestError) as at:
        canonical({"key": Secret("sk-123")})
    assert "sk-123" not in str(at.value)
