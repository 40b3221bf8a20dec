from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from rxagent.wire.partial import PartialJson

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)
STYLES = st.sampled_from([(True, None), (False, None), (True, 1), (False, 2)])


def begins(part: object, whole: object) -> bool:
    """Whether ``whole`` may have grown out of ``part``."""
    if isinstance(part, str):
        return isinstance(whole, str) and whole.startswith(part)
    if isinstance(part, list):
        return (
            isinstance(whole, list)
            and len(part) <= len(whole)
            and part[:-1] == whole[: len(part)][:-1]
            and all(map(begins, part[-1:], whole[len(part) - 1 : len(part)]))
        )
    if isinstance(part, dict):
        if not isinstance(whole, dict):
            return False
        names = list(part)
        return names == list(whole)[: len(names)] and all(
            begins(part[name], whole[name])
            if name == names[-1]
            else part[name] == whole[name]
            for name in names
        )
    return type(part) is type(whole) and part == whole


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def values_of(texts: list[str]) -> list[object]:
    partial = PartialJson()
    found = [value for text in texts for value in partial.feed(text)]
    return [*found, *partial.flush()]


@settings(max_examples=300)
@given(value=JSON, style=STYLES, size=st.integers(1, 7))
def test_values_are_a_chain_of_beginnings_that_ends_in_the_whole(
    value: object, style: tuple[bool, int | None], size: int
) -> None:
    ascii_only, indent = style
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    found = values_of(pieces(text, size))
    assert found[-1] == value
    for part, whole in pairwise(found):
        assert begins(part, whole)
        assert part != whole or type(part) is not type(whole)


def test_a_number_is_whole_before_it_is_shown() -> None:
    assert values_of(["[1", "2", ", 3", "]"]) == [[], [12], [12, 3]]


def test_a_text_grows() -> None:
    assert values_of(['{"a": "x', "y", '"}']) == [{"a": "x"}, {"a": "xy"}]


def test_a_text_that_breaks_off_has_no_whole() -> None:
    assert values_of(['["a", "b']) == [["a", "b"]]


def test_a_long_text_is_read_seldom() -> None:
    """Reads are counted by what they may find: a new value with each piece."""
    text = json.dumps([{"name": f"film {n}"} for n in range(5000)])
    found = values_of(pieces(text, 20))
    assert len(found) < len(text) / 20 / 10
    assert found[-1] == json.loads(text)
