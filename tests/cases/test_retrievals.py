"""That the readers of retrieval see what they should, and can say no."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.case import Case, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.retrievals import check_retrieve, check_split


def split(expect: Json, **given: Any) -> Case:
    given = {"text": "One two. Three four. ", "size": 12, **given}
    return Case(id="c", kind="split", protocol="", given=given, expect=expect)


def retrieve(expect: Json, **given: Any) -> Case:
    documents: list[Any] = [
        {"id": "a", "text": "red", "metadata": {"n": 1}},
        {"id": "b", "text": "red red", "metadata": {"n": 2}},
        "blue",
    ]
    given = {"documents": documents, "query": "red", **given}
    return Case(id="c", kind="retrieve", protocol="", given=given, expect=expect)


def test_chunks_are_checked() -> None:
    right = ["One two. ", "Three four. "]
    check_split(split({"chunks": right, "max_chunk_chars": {"$lte": 12}}), "as cut")
    check_split(split({"each": {"chunks": right}}, variants=[{"size": 12}]), "as cut")
    for wrong in ({"chunks": right[:1]}, {"max_chunk_chars": {"$lte": 3}}):
        with pytest.raises(AssertionError):
            check_split(split(wrong), "as cut")


def test_an_error_of_sizes_is_one_of_making_the_splitter() -> None:
    error = {"error": {"kind": "value", "at": "construction"}}
    check_split(split(error, overlap=12), "as cut")
    with pytest.raises(AssertionError):
        check_split(split(error), "as cut")
    with pytest.raises(AssertionError):
        check_split(split({}, overlap=12), "as cut")


def test_what_is_found_is_checked() -> None:
    check_retrieve(retrieve({"ids": ["b", "a"], "scores": [{"$gte": 0}] * 2}), "as cut")
    check_retrieve(retrieve({"texts": ["red red"]}, filter="n >= 2"), "as cut")
    check_retrieve(retrieve({"ids": []}, top_k=0), "as cut")
    check_retrieve(retrieve({"error": {"kind": "value"}}, filter="n ="), "as cut")
    with pytest.raises(AssertionError):
        check_retrieve(retrieve({"ids": ["a"]}), "as cut")


def test_documents_may_bring_their_vectors() -> None:
    documents = [{"text": "x", "vector": [1, 0]}, {"text": "y", "vector": [0, 1]}]
    query = {"text": "q", "vector": [1, 1e-3]}
    given: Json = {"documents": documents, "query": query, "min_score": 0.5}
    check_retrieve(retrieve({"ids": ["0"]}, **given), "as cut")


@pytest.mark.parametrize("check", [check_split, check_retrieve])
def test_what_the_readers_do_not_know_is_not_passed_over(check: Any) -> None:
    make = split if check is check_split else retrieve
    for case in (make({"surprise": 1}), make({}, surprise=1)):
        with pytest.raises(NotSupportedError):
            check(case, "as cut")


def test_a_filter_is_a_text_with_what_it_is_bound_to_or_values_of_fields() -> None:
    for wanted in ({"filter": {"n": 2}}, {"filter": "n == :n", "bound": {"n": 2}}):
        check_retrieve(retrieve({"ids": ["b"], "total": 1}, **wanted), "as cut")
    evil = {"filter": "n == 1 OR n == 2", "mandatory_filter": "n == 2"}
    check_retrieve(retrieve({"ids": ["b"]}, **evil), "as cut")
    with pytest.raises(AssertionError):
        check_retrieve(retrieve({"total": 2}, filter={"n": 2}), "as cut")


def test_documents_may_come_twice_and_go() -> None:
    check_retrieve(retrieve({"ids": ["b", "a"]}, ingest_times=2), "as cut")
    check_retrieve(retrieve({"ids": ["a"]}, delete=["b", "lost"]), "as cut")


def test_without_a_least_score_even_what_is_far_away_is_found() -> None:
    documents = [{"text": "x", "vector": [-1, 0], "metadata": None}]
    given: Json = {"documents": documents, "query": {"text": "q", "vector": [1, 0]}}
    check_retrieve(retrieve({"ids": ["0"], "scores": [-1.0]}, **given), "as cut")


def test_what_no_chunk_may_hold_is_looked_for() -> None:
    check_split(split({"chunks_total": 2, "never_contains": ["\ufffd"]}), "as cut")
    for wrong in ({"chunks_total": 3}, {"never_contains": ["two"]}):
        with pytest.raises(AssertionError):
            check_split(split(wrong), "as cut")
