from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.wire.gemini.partial_args import PartialArgs


def built(*pieces: dict[str, object]) -> dict[str, Any]:
    args = PartialArgs()
    for piece in pieces:
        args.add(piece)
    return args.whole()


def test_a_text_grows_while_its_path_stays_the_same() -> None:
    found = built(
        {"jsonPath": "$.a", "stringValue": "Bos", "willContinue": True},
        {"jsonPath": "$.a", "stringValue": "ton"},
        {"jsonPath": "$.b", "stringValue": "x", "willContinue": True},
        {"jsonPath": "$.c", "stringValue": "y", "willContinue": True},
        {"jsonPath": "$.d", "boolValue": False},
    )

    assert found == {"a": "Boston", "b": "x", "c": "y", "d": False}
    assert list(found) == ["a", "b", "c", "d"]


def test_leaves_are_of_each_kind() -> None:
    found = built(
        {"jsonPath": "$.whole", "numberValue": 3.0},
        {"jsonPath": "$.part", "numberValue": 0.5},
        {"jsonPath": "$.int", "numberValue": 7},
        {"jsonPath": "$.no", "boolValue": False},
        {"jsonPath": "$.null", "nullValue": "NULL_VALUE"},
        {"jsonPath": "$.empty", "stringValue": ""},
        {"jsonPath": "$.nothing"},
    )

    assert found == {
        "whole": 3,
        "part": 0.5,
        "int": 7,
        "no": False,
        "null": None,
        "empty": "",
    }
    assert isinstance(found["whole"], int)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.a.b.c", {"a": {"b": {"c": 1}}}),
        ("$.a[0][0].b", {"a": [[{"b": 1}]]}),
        ("$['a b']", {"a b": 1}),
        ('$["a.b"]["]"]', {"a.b": {"]": 1}}),
        ("$['it\\'s']", {"it's": 1}),
        ("$.with space", {"with space": 1}),
    ],
)
def test_a_path_leads_through_objects_and_arrays(
    path: str, expected: dict[str, object]
) -> None:
    assert built({"jsonPath": path, "numberValue": 1}) == expected


@pytest.mark.parametrize(
    "path", ["", "$", "a", "$a", "$.", "$[0]", "$.a[1]", "$.a[-1]", "$.a[x]", "$..a", 7]
)
def test_a_path_that_leads_nowhere_is_an_error(path: object) -> None:
    with pytest.raises(ValueError, match="has an argument"):
        built({"jsonPath": path, "numberValue": 1})


@pytest.mark.parametrize("path", ["$.a.b", "$.a[0]"])
def test_a_leaf_has_nothing_in_it(path: str) -> None:
    with pytest.raises(ValueError, match="fits nowhere"):
        built(
            {"jsonPath": "$.a", "numberValue": 1}, {"jsonPath": path, "boolValue": True}
        )


NAMES = st.text("abc", min_size=1, max_size=3)
VALUES = st.recursive(
    st.text(max_size=5) | st.integers(0, 9) | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(NAMES, inner, min_size=1, max_size=3)
    ),
    max_leaves=10,
)


def leaves(value: Any, path: str) -> list[dict[str, object]]:
    match value:
        case dict():
            return [
                leaf
                for name, each in value.items()
                for leaf in leaves(each, f"{path}.{name}")
            ]
        case list():
            return [
                leaf
                for place, each in enumerate(value)
                for leaf in leaves(each, f"{path}[{place}]")
            ]
        case str():
            pieces: list[dict[str, object]] = [
                {"jsonPath": path, "stringValue": letter, "willContinue": True}
                for letter in value
            ]
            return [*pieces, {"jsonPath": path, "stringValue": ""}]
        case bool():
            return [{"jsonPath": path, "boolValue": value}]
        case int():
            return [{"jsonPath": path, "numberValue": float(value)}]
        case _:
            return [{"jsonPath": path, "nullValue": "NULL_VALUE"}]


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_any_object_is_built_of_its_leaves(value: dict[str, object]) -> None:
    assert built(*leaves(value, "$")) == value
