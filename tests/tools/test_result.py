from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from numbers import Integral
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from rxagent.messages import Audio, File, Image, Text
from rxagent.tools import content_of


class Film(BaseModel):
    title: str
    cast: list[Film] = []


@dataclass
class Seat:
    row: int
    owner: object = None


class Colour(Enum):
    RED = "red"


class Name(str, Enum):  # noqa: UP042 - the older idiom has another __str__
    EVA = "eva"


@Integral.register
class Whole:
    """A number that is none of the built-in ones, as those of numpy are."""

    def __int__(self) -> int:
        return 3

    def __repr__(self) -> str:
        return "Whole()"


class Rude:
    """An object whose every property fails."""

    def __repr__(self) -> str:
        raise OSError("no")

    def __getattribute__(self, name: str) -> Any:
        raise OSError("no")


def shown(value: object) -> str:
    (part,) = content_of(value)
    assert isinstance(part, Text)
    part.text.encode()
    return part.text


def test_text_is_as_it_is() -> None:
    assert shown("é\n{}") == "é\n{}"
    assert shown("") == ""
    assert (shown(Name.EVA), type(shown(Name.EVA))) == ("eva", str)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (1.5, "1.5"),
        (10**60, "1" + 60 * "0"),
        ({"k": "é", "n": 1}, '{"k":"é","n":1}'),
        ({3}, "[3]"),
        (["a", "b"], '["a","b"]'),
        ([], "[]"),
        ((1, None), "[1,null]"),
        (deque([1]), "[1]"),
        ({1: "a", (2, 3): "b"}, '{"1":"a","2,3":"b"}'),
        (Film(title="Alien", cast=[]), '{"title":"Alien","cast":[]}'),
        ([Seat(row=1)], '[{"row":1,"owner":null}]'),
        (Colour.RED, '"red"'),
        (datetime(2024, 2, 29, 1, tzinfo=UTC), '"2024-02-29T01:00:00Z"'),
        (timedelta(hours=1), '"PT1H"'),
        (Decimal("1.10"), '"1.10"'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (PurePosixPath("a/b"), '"a/b"'),
        (MappingProxyType({"a": {}.keys()}), '{"a":[]}'),
        (Whole(), "3"),
        pytest.param([memoryview(b"a")], '["YQ=="]', id="memoryview"),
        (float("nan"), '"NaN"'),
        ([float("inf")], '["Infinity"]'),
        ({"data": b"\x00\xff"}, '{"data":"AP8="}'),
        ([Seat(row=1, owner=Film)], f'[{{"row":1,"owner":"{Film!r}"}}]'),
    ],
    ids=repr,
)
def test_values_become_json_with_their_letters_kept(value: object, text: str) -> None:
    """Case loop-result-types."""
    assert shown(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"caf\xc3\xa9", "café"),
        (bytearray(b"ok"), "ok"),
        (memoryview(b"ok"), "ok"),
        (b"", ""),
        (b"\x00\xffA", '{"bytes":3,"base64":"AP9B"}'),
        (b"a\x00b", '{"bytes":3,"base64":"YQBi"}'),
    ],
)
def test_bytes_are_text_or_base64(value: object, text: str) -> None:
    assert shown(value) == text


def test_parts_are_as_they_are_alone_and_in_a_sequence() -> None:
    image = Image(data=b"png")
    audio, file = Audio(url="http://a/b.wav"), File(data=b"pdf")

    assert content_of(image) == (image,)
    assert content_of(Text(text="a")) == (Text(text="a"),)
    assert content_of([image, audio, file]) == (image, audio, file)
    assert content_of(("see", image)) == (Text(text="see"), image)
    assert content_of([Text(text="a\ud800")]) == (Text(text="a\ufffd"),)


def test_a_sequence_with_something_else_in_it_is_data() -> None:
    assert json.loads(shown([Text(text="a"), 1])) == [{"text": "a", "type": "text"}, 1]


def cycle() -> object:
    items: list[object] = []
    items.append(items)
    return items


def nested(depth: int) -> object:
    value: object = []
    for _ in range(depth):
        value = [value]
    return value


def numbers() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (cycle(), "[[...]]"),
        ({"again": Seat(row=1, owner=cycle())}, "again"),
        (ValueError("no"), "ValueError('no')"),
        (Seat, "Seat"),
        (Rude(), "Rude"),
        ({"a": [Rude()]}, "Rude"),
        ({Rude(): 1}, "cannot be shown"),
        (nested(100_000), "list"),
        (10**5_000, ""),
        (numbers(), "[1]"),
        (map(str, [1]), '["1"]'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_cannot_say_is_shown_and_crashes_nothing(
    value: object, says: str
) -> None:
    assert says in shown(value)


def test_a_fallback_is_short() -> None:
    items = [list(range(10_000))]
    items.append(items)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    assert len(shown(items)) == 1_000
    assert shown(items).endswith("…")


def test_lone_surrogates_become_the_replacement_character() -> None:
    assert shown("a\ud83d") == "a\ufffd"
    assert shown("\ud83d\ude00") == "😀"
    assert shown({"k": ["\udc00", b"\xff"]}) == '{"k":["\ufffd","_w=="]}'
    assert "\\ud800" in shown({"\ud800": 1})
    assert shown([ValueError("\ud800")]) == "[\"ValueError('\\\\ud800')\"]"


def test_the_text_is_cut_at_the_limit() -> None:
    (part,) = content_of({"a": "x" * 1_000}, max_chars=200)

    assert isinstance(part, Text)
    assert part.text.startswith('{"a":"xxx')
    assert len(part.text) <= 200


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values.filter(lambda value: not isinstance(value, str)))
def test_what_is_json_comes_back_from_the_text(value: object) -> None:
    assert json.loads(shown(value)) == value


anything = st.recursive(
    json_values
    | st.binary()
    | st.text(st.characters(categories=["Cs", "L"]))
    | st.floats()
    | st.complex_numbers()
    | st.datetimes()
    | st.builds(Rude)
    | st.builds(cycle)
    | st.sampled_from([Rude, object(), Film(title="é"), Colour.RED, range(3)])
    | st.builds(Seat, row=st.integers(), owner=st.binary()),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.builds(Seat, row=st.integers(), owner=inner)
        | st.dictionaries(st.text(st.characters()) | st.integers(), inner)
    ),
)


@given(anything)
def test_no_object_crashes_it_and_the_text_fits_utf8(value: object) -> None:
    shown(value)
