from __future__ import annotations

import pytest
import reactivex
from reactivex import Observable

from rxagent.errors import AdvisorError
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.messages import AssistantMessage
from rxagent.operators import just, one_finished
from rxagent.responses import ChatResponse

DELTA = TextDelta(text="a")
END = Finished(response=ChatResponse(message=AssistantMessage.of("a")))


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([], "completed without a Finished"),
        ([DELTA], "completed without a Finished"),
        ([DELTA, END, END], "went on after Finished"),
        ([END, DELTA], "went on after Finished"),
    ],
    ids=["nothing", "no end", "two ends", "something after the end"],
)
def test_a_broken_grammar_is_an_error_with_a_name(
    events: list[ChatEvent], problem: str
) -> None:
    """S004-3."""
    errors: list[Exception] = []

    source: Observable[ChatEvent] = just(*events)
    source.pipe(one_finished("me")).subscribe(on_error=errors.append)

    [error] = errors
    assert isinstance(error, AdvisorError)
    assert error.advisor == "me"
    assert problem in str(error)


def test_the_grammar_passes_as_it_is() -> None:
    seen: list[ChatEvent] = []
    completed: list[bool] = []

    source: Observable[ChatEvent] = just(DELTA, END)
    source.pipe(one_finished("me")).subscribe(
        seen.append, on_completed=lambda: completed.append(True)
    )

    assert seen == [DELTA, END]
    assert completed == [True]


def test_an_error_passes_as_it_is() -> None:
    errors: list[Exception] = []
    broken = OSError("broken")

    reactivex.throw(broken).pipe(one_finished("me")).subscribe(on_error=errors.append)

    assert errors == [broken]


@pytest.mark.parametrize("events", [[], [END, DELTA]], ids=["no end", "two ends"])
def test_an_error_is_told_before_anybody_else_is(events: list[ChatEvent]) -> None:
    told: list[str] = []
    checked = one_finished("me", failed=lambda error: told.append(str(error)))

    source: Observable[ChatEvent] = just(*events)
    source.pipe(checked).subscribe(on_error=lambda _: told.append("at its end"))

    assert len(told) == 2
    assert told[0].startswith("advisor 'me'")
    assert told[1] == "at its end"
