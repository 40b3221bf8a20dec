"""Cases about answers from documents."""

from __future__ import annotations

from itertools import count
from typing import Any

from reactivex import Observable

from rxagent.advisors import question_answer
from rxagent.agent import Agent
from rxagent.operators import just
from rxagent.retrieval import Document, Query
from rxagent.testing import ScriptedModel
from tests.cases.case import Case, Cutting, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.matchers import check

__all__ = ["check_rag"]

_KNOWN = {"kind", "template", "documents", "question", "top_k", "inject_when_empty"}


def check_rag(case: Case, cutting: Cutting) -> None:
    """A question and what is found for it, to the prompt that the model sees."""
    del cutting
    if unknown := case.given.keys() - _KNOWN:
        raise NotSupportedError(f"this reader does not know {unknown}")
    model, searches = ScriptedModel("end"), list[Query]()
    advisor = _advisor(case.given, searches)
    Agent(model, advisors=[advisor]).call(case.given["question"]).run()

    prompt = model.requests[0].messages[-1].text
    expect = dict(case.expect)
    contained = expect.pop("prompt_contains", [])
    check({"$contains_all": contained}, prompt, "$.prompt_contains")
    check(expect.pop("prompt", prompt), prompt, "$.prompt")
    searched = [query.text for query in searches]
    check(expect.pop("queries", searched), searched, "$.queries")
    if expect:
        raise NotSupportedError(f"this reader does not know {expect.keys()}")


def _advisor(given: Json, searches: list[Query]) -> Any:
    found = tuple(map(_document, given["documents"], count()))

    def search(query: Query) -> Observable[tuple[Document, ...]]:
        searches.append(query)
        return just(found[: query.top_k])

    options = {name: given[name] for name in given.keys() & _OPTIONS}
    return question_answer(search, **options)


_OPTIONS = {"template", "top_k", "inject_when_empty"}


def _document(document: Any, number: int) -> Document:
    if isinstance(document, str):
        return Document(id=f"{number}", text=document)
    return Document(id=str(document.get("id", number)), text=document["text"])
