"""Cases about answers from documents."""

from __future__ import annotations

from itertools import count
from typing import Any

from reactivex import Observable

from rxagent.advisors import question_answer
from rxagent.agent import Agent
from rxagent.errors import RxAgentError
from rxagent.operators import just
from rxagent.retrieval import Document, Query, matches, parse_filter
from rxagent.testing import ScriptedModel
from tests.cases.case import Case, Cutting, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.matchers import check
from tests.cases.words import check_error

__all__ = ["check_rag"]

_OPTIONS = {"template", "top_k", "inject_when_empty"}
_KNOWN = {"kind", "documents", "question", "filter"} | _OPTIONS


def check_rag(case: Case, cutting: Cutting) -> None:
    """A question and what is found for it, to the prompt that the model sees."""
    del cutting
    if unknown := case.given.keys() - _KNOWN:
        raise NotSupportedError(f"this reader does not know {unknown}")
    model, searches = ScriptedModel("end"), list[Query]()
    expect, error = dict(case.expect), None
    try:
        advisor = _advisor(case.given, searches)
        Agent(model, advisors=[advisor]).call(case.given["question"]).run()
    except RxAgentError as caught:
        error = caught
    check_error(expect.pop("error", None), error)

    prompt = model.requests[0].messages[-1].text if model.requests else ""
    for never in expect.pop("prompt_never_contains", []):
        assert never not in prompt
    contained = expect.pop("prompt_contains", [])
    check({"$contains_all": contained}, prompt, "$.prompt_contains")
    check(expect.pop("prompt", prompt), prompt, "$.prompt")
    searched = [query.text for query in searches]
    check(expect.pop("queries", searched), searched, "$.queries")
    total = len(searches)
    check(expect.pop("retrievals_total", total), total, "$.retrievals_total")
    if expect:
        raise NotSupportedError(f"this reader does not know {expect.keys()}")


def _advisor(given: Json, searches: list[Query]) -> Any:
    found = tuple(map(_document, given["documents"], count()))
    wanted = given.get("filter")

    def search(query: Query) -> Observable[tuple[Document, ...]]:
        searches.append(query)
        mine = query.filter
        fit = (each for each in found if mine is None or matches(mine, each.metadata))
        return just(tuple(fit)[: query.top_k])

    options = {name: given[name] for name in given.keys() & _OPTIONS}
    return question_answer(
        search, filter=parse_filter(wanted) if wanted else None, **options
    )


def _document(document: Any, number: int) -> Document:
    if isinstance(document, str):
        return Document(id=f"{number}", text=document)
    return Document(
        id=str(document.get("id", number)),
        text=document["text"],
        metadata=document.get("metadata") or {},  # null is a member that is missing
    )
