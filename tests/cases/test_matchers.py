from __future__ import annotations

from typing import Any

import pytest

from tests.cases.matchers import check, matches

GOOD: list[tuple[Any, Any]] = [
    (1, 1),
    (1, 1.0),
    ("a", "a"),
    (True, True),
    (None, None),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": None}, {}),
    ([1, {"a": 2}], [1, {"a": 2, "b": 3}]),
    ({"$any": [1, {"$regex": "^x"}]}, "xy"),
    ({"$all": [{"$starts": "a"}, {"$contains": "c"}]}, "abc"),
    ({"$not": "a"}, "b"),
    ({"$contains_all": ["a", "c"], "$not_regex": "d"}, "abc"),
    ({"$regex": "a.b"}, "a\nb"),
    ({"$len": 3}, "abc"),
    ({"$max_len": 3}, [1, 2]),
    ({"$lte": 3, "$gte": 3}, 3.0),
    ({"$absent": True}, None),
    ({"$absent": False}, 0),
    ({"a": {"$absent": True}}, {}),
    ({"$type": "string"}, ""),
    ({"$type": "list"}, []),
    ({"$json": {"a": 1}}, '{"a": 1, "b": 2}'),
    ({"$json_object": True}, "{}"),
    ({"$json_object": False}, "[]"),
    ([1, {"$rest": {"$gte": 2}}], [1, 2, 3]),
    ([1, {"$rest": 2}], [1]),
]

BAD: list[tuple[Any, Any, str]] = [
    (1, 2, r"^\$: wanted 1, found 2"),
    (1, True, "wanted 1"),
    (True, 1, "wanted True"),
    (0, None, "wanted 0"),
    (None, 0, "wanted None"),
    ("1", 1, "wanted '1'"),
    ({"a": {"b": 1}}, {"a": {"b": 2}}, r"^\$\.a\.b: wanted 1, found 2"),
    ({"a": 1}, [1], "an object"),
    ([1], {"a": 1}, "a list"),
    ([1], [1, 2], "1 items"),
    ([1, 2], [1], "2 items"),
    ([1, {"$rest": 2}], [1, 3], r"^\$\[1\]: wanted 2"),
    ([1, {"$rest": 2}], [], "1 items"),
    ([0, 1], [0, 2], r"^\$\[1\]: wanted 1"),
    ({"$any": [1, 2]}, 3, r"wanted \$any"),
    ({"$all": [{"$starts": "a"}, {"$contains": "d"}]}, "abc", r"\$contains 'd'"),
    ({"$not": {"$contains": "a"}}, "a", r"\$not"),
    ({"$contains": "a"}, None, "a text"),
    ({"$contains": "b"}, "a", r"\$contains"),
    ({"$contains_all": ["a", "b"]}, "a", r"\$contains_all"),
    ({"$regex": "^b"}, "ab", r"\$regex"),
    ({"$not_regex": "b"}, "ab", r"\$not_regex"),
    ({"$starts": "b"}, "ab", r"\$starts"),
    ({"$len": 1}, "ab", r"\$len"),
    ({"$max_len": 1}, "ab", r"\$max_len"),
    ({"$lte": 1}, 2, r"\$lte"),
    ({"$gte": 1}, True, r"\$gte"),
    ({"$absent": True}, 0, r"\$absent"),
    ({"$type": "string"}, [], r"\$type"),
    ({"$json": {"a": 1}}, '{"a": 2}', r"^\$\.a: wanted 1"),
    ({"$json_object": True}, "[]", r"\$json_object"),
    ({"$contains": "a", "$starts": "b"}, "a", r"\$starts"),
]


@pytest.mark.parametrize(("expected", "found"), GOOD)
def test_what_is_expected_matches(expected: Any, found: Any) -> None:
    check(expected, found)


@pytest.mark.parametrize(("expected", "found", "words"), BAD)
def test_what_is_not_expected_is_named_with_its_place(
    expected: Any, found: Any, words: str
) -> None:
    with pytest.raises(AssertionError, match=words):
        check(expected, found)


def test_an_unknown_matcher_is_no_match() -> None:
    with pytest.raises(ValueError, match="there is no matcher \\$wish"):
        check({"$wish": 1}, "a")


def test_a_long_value_is_not_shown_whole() -> None:
    with pytest.raises(AssertionError, match=r"… \(100002 characters\)") as caught:
        check("a", "x" * 100_000)
    assert len(str(caught.value)) < 1000


def test_all_scores_are_one_number() -> None:
    assert matches({"$all_scores": 0}, [0.0, 0])
    assert matches({"$all_scores": 0.5}, [{"id": "a", "score": 0.5}])
    assert not matches({"$all_scores": 0}, [0.0, 0.1])
