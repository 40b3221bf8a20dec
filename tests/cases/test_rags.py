"""That the reader of answers from documents can say no."""

from __future__ import annotations

import pytest

from tests.cases.case import Case, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.rags import check_rag


def rag(expect: Json, **given: object) -> Case:
    asked: Json = {"documents": ["one", {"text": "two"}], "question": "which?", **given}
    return Case(id="c", kind="rag", protocol="", given=asked, expect=expect)


def test_the_prompt_is_checked() -> None:
    template = "{context}|{question}"
    good: list[Json] = [
        {"prompt": "one\ntwo|which?"},
        {"prompt_contains": ["one", "which?"], "queries": ["which?"]},
    ]
    bad: list[Json] = [{"prompt": "one"}, {"prompt_contains": ["x"]}, {"queries": []}]
    for expect in good:
        check_rag(rag(expect, template=template), "as cut")
    for expect in bad:
        with pytest.raises(AssertionError):
            check_rag(rag(expect, template=template), "as cut")


def test_no_more_documents_than_are_wanted_are_in_it() -> None:
    case = rag(
        {"prompt": "one?"}, top_k=1, template="{context}{question}", question="?"
    )
    check_rag(case, "as cut")


def test_what_it_does_not_know_is_said() -> None:
    with pytest.raises(NotSupportedError):
        check_rag(rag({"sources": 1}), "as cut")
    with pytest.raises(NotSupportedError):
        check_rag(rag({}, store="a"), "as cut")


def test_what_may_not_be_in_the_prompt_is_looked_for() -> None:
    mine = [{"text": "mine", "metadata": {"t": "a"}}, {"text": "yours"}]
    expect: Json = {"prompt_never_contains": ["yours"], "retrievals_total": 1}
    check_rag(rag(expect, documents=mine, filter="t == 'a'"), "as cut")
    with pytest.raises(AssertionError):
        check_rag(rag(expect, documents=mine), "as cut")


def test_an_error_is_compared() -> None:
    check_rag(rag({"error": {"kind": "value"}}, template="{question}"), "as cut")
    for wrong in (rag({"error": {"kind": "value"}}), rag({}, template="{question}")):
        with pytest.raises(AssertionError):
            check_rag(wrong, "as cut")
