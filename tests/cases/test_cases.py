"""Every acceptance case, cut in every way that must not matter.

``RXAGENT_CASES`` names their folder.  Where there is none, that is what is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.cases import (
    answers,
    guards,
    loops,
    memories,
    rags,
    retrievals,
    searches,
    streams,
    texts,
    validations,
)
from tests.cases.case import FOLDER, Case, Cutting, load_cases
from tests.cases.gaps import NotSupportedError, gap

CHECKS: dict[str, Callable[[Case, Cutting], None]] = {
    "sse": answers.check_sse,
    "wire": answers.check_wire,
    "retry-after": answers.check_retry_after,
    "render": texts.check_render,
    "json-extract": texts.check_json_extract,
    "names": texts.check_names,
    "tool-loop": loops.check_tool_loop,
    "tool-search": searches.check_tool_search,
    "stream": streams.check_stream,
    "validation": validations.check_validation,
    "memory": memories.check_memory,
    "memory-run": memories.check_memory_run,
    "guardrail": guards.check_guardrail,
    "rag": rags.check_rag,
    "retrieve": retrievals.check_retrieve,
    "split": retrievals.check_split,
}


def parameters() -> Iterator[object]:
    for case in load_cases():
        reason = gap(case)
        expected = pytest.mark.xfail(
            strict=True, raises=NotSupportedError, reason=reason or ""
        )
        for cutting in case.cuttings():
            name = case.id if cutting == "as cut" else f"{case.id}, {cutting}"
            yield pytest.param(
                case, cutting, id=name, marks=[expected] if reason else []
            )


def check_case(case: Case, cutting: Cutting) -> None:
    if case.kind not in CHECKS:
        raise NotSupportedError(f"kind {case.kind}")
    CHECKS[case.kind](case, cutting)


if CASES := list(parameters()):

    @pytest.mark.parametrize(("case", "cutting"), CASES)
    def test_the_case_holds(case: Case, cutting: Cutting) -> None:
        check_case(case, cutting)

else:

    def test_there_are_no_cases_here() -> None:
        assert not FOLDER.exists(), f"{FOLDER} holds no cases"
