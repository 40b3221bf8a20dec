from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rxagent.wire.json_reader import JsonReader, JsonValue
from tests.wire.test_partial import JSON, pieces
from tests.wire.work import work_of


def read(texts: list[str], *, depth: int = 2) -> tuple[list[JsonValue], bool]:
    reader = JsonReader(depth=depth)
    found = [value for text in texts for value in reader.feed(text)]
    found += reader.flush()
    return found, reader.is_broken


def inside(
    value: object, depth: int, path: tuple[str | int, ...] = ()
) -> list[JsonValue]:
    """What is to be reported, by looking at the whole."""
    found: list[JsonValue] = []
    if depth and isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for step, each in items:
            found += inside(each, depth - 1, (*path, step))
    return [*found, JsonValue(path=path, value=value)]


@settings(max_examples=300)
@given(
    value=JSON,
    size=st.integers(1, 7),
    depth=st.integers(0, 3),
    indent=st.none() | st.just(1),
)
def test_each_value_is_reported_once_wherever_the_text_is_cut(
    value: object, size: int, depth: int, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent)
    assert read(pieces(text, size), depth=depth) == (inside(value, depth), False)


def test_a_value_is_there_as_soon_as_it_is_complete() -> None:
    reader = JsonReader()
    assert list(reader.feed('{"cast": ["Ann", "Bo')) == [
        JsonValue(path=("cast", 0), value="Ann")
    ]
    assert list(reader.feed('b"]')) == [
        JsonValue(path=("cast", 1), value="Bob"),
        JsonValue(path=("cast",), value=["Ann", "Bob"]),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1,,]",
        "[,]",
        '{"a":}',
        "{1: 2}",
        '{"a" 1}',
        "[1 2]",
        "[1}",
        "]",
        "[1] [2]",
        "nul",
        "[",
        '"a',
        '["\ud83d"]',
        '["\\ud83d"]',
    ],
)
@pytest.mark.parametrize("size", [1, 100])
def test_what_is_no_json_breaks_it(text: str, size: int) -> None:
    assert read(pieces(text, size))[1]


def test_a_comma_before_the_end_is_no_harm() -> None:
    assert read(['{"a": [1, 2,],}'], depth=0) == (
        [JsonValue(path=(), value={"a": [1, 2]})],
        False,
    )


def test_work_does_not_grow_with_how_deep_it_is() -> None:
    """What stands deeper than it reports costs what its text costs."""

    def work(depth: int) -> int:
        text = "[" * depth + "1," * 1000 + "1" + "]" * depth
        return work_of(lambda: read(pieces(text, 20), depth=1))

    assert work(2000) - work(1000) <= 1.1 * (work(1000) - work(0))
