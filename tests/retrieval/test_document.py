from __future__ import annotations

from typing import Any

import pytest

from rxagent.errors import DocumentError
from rxagent.retrieval import Document


def test_a_document_is_equal_by_what_it_is_and_not_by_how_it_was_found() -> None:
    one = Document(id="a", text="t", metadata={"tags": ["x"]}, score=0.5)
    assert one == Document(id="a", text="t", metadata={"tags": ("x",)})
    assert one != Document(id="a", text="t")
    assert hash(one) == hash(Document(id="a", text="t"))


def test_metadata_is_copied() -> None:
    given: dict[str, Any] = {"tags": ["x"], "year": 2020}
    document = Document(id="a", text="t", metadata=given)
    given["tags"].append("y")
    given["year"] = 1
    assert document.metadata == {"tags": ("x",), "year": 2020}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("a\0", "a text with NUL as its 'key'"),
        ("\ud800", "half a surrogate pair"),
        (float("nan"), "the number nan"),
        (float("inf"), "the number inf"),
        (2**63, "a number of over 64 bits"),
        (-(2**63) - 1, "a number of over 64 bits"),
        ({"a": 1}, "a dict"),
        ([["a"]], "a tuple|a list"),
        ([None], "a NoneType"),
        ({"a"}, "a set"),
        (b"a", "a bytes"),
    ],
)
def test_what_not_every_index_can_keep_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(DocumentError, match=problem) as caught:
        Document(id="d", text="t", metadata={"key": value})
    assert caught.value.document == "d"


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), True, 0.5, "", [], None, [1]])
def test_what_every_index_can_keep_is_kept(value: Any) -> None:
    Document(id="d", text="t", metadata={"key": value})


def test_ids_texts_and_names_are_checked_as_well() -> None:
    with pytest.raises(DocumentError, match="has no id"):
        Document(id="", text="t")
    with pytest.raises(DocumentError, match=r"'d' has a text with NUL as its text"):
        Document(id="d", text="\0")
    with pytest.raises(DocumentError, match=r"'\\ud800' has a text with half"):
        Document(id="\ud800", text="")
    with pytest.raises(DocumentError, match="as a name of metadata"):
        Document(id="d", text="", metadata={"\0": 1})


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"id": 1}, "document '1' has a int as its id"),
        ({"text": None}, "has a NoneType as its text"),
        ({"text": b"t"}, "has a bytes as its text"),
        ({"metadata": None}, "has a NoneType as its metadata, not a mapping"),
        ({"metadata": {1: 1}}, "has a int as a name of metadata"),
    ],
)
def test_what_is_of_another_type_is_refused(wrong: Any, problem: str) -> None:
    given: dict[str, Any] = {"id": "d", "text": "t", **wrong}
    with pytest.raises(DocumentError, match=problem):
        Document(**given)
