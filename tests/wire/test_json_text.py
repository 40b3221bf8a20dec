from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.wire.json_text import dump_json, is_json, load_json

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_json_comes_back_as_it_was(value: object) -> None:
    assert load_json(dump_json(value).decode()) == value


def test_half_of_a_pair_is_read_as_it_is() -> None:
    assert load_json(r'["\ud83d"]') == ["\ud83d"]
    assert load_json('["\ude80"]') == ["\ude80"]


def test_half_of_a_pair_is_written_as_a_replacement_character() -> None:
    assert dump_json("a\ud83d") == '"a\ufffd"'.encode()
    assert dump_json("\ud83d\ude80") == '"🚀"'.encode()


@pytest.mark.parametrize("text", ["", "{", '{"a":1} x', "{a: 1}", "[" * 100_000])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        load_json(text)


def test_what_json_cannot_say_is_an_error() -> None:
    loop: list[object] = []
    loop.append(loop)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]

    for value in (math.nan, math.inf, loop, deep):
        with pytest.raises(ValueError, match=r"\w"):
            dump_json(value)
    with pytest.raises(TypeError):
        dump_json(object())


def test_what_is_nested_too_deeply_or_in_itself_is_no_json() -> None:
    nested: object = 1
    for _ in range(100):
        nested = [nested]
    assert is_json(nested)
    assert not is_json([nested])
    assert not is_json({"a": nested})

    itself: dict[str, object] = {}
    itself["a"] = itself["b"] = [itself, itself]
    assert not is_json(itself)


@given(json_values)
def test_what_decoding_makes_is_json(value: object) -> None:
    assert is_json(load_json(dump_json(value).decode()))
