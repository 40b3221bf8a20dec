"""What every guard does with what it holds, when the stream ends in any way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest
from reactivex import Observable
from reactivex.notification import OnCompleted, OnError, OnNext
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.events import ChatEvent, TextDelta
from rxagent.guards import (
    EventGuard,
    TextGuard,
    by_line,
    by_paragraph,
    by_sentence,
    cap_chars,
    cap_tokens,
    guard,
    hold_release,
    json_only,
    smooth,
    stop_on,
    think_tags,
)
from rxagent.messages import UserMessage
from rxagent.operators import coalesce, just
from rxagent.requests import ChatRequest
from tests.guards.happening import END, ROUND, completed, failed, text


class Ends(NamedTuple):
    """A guard, a text, and what has left of it before its end, and with it."""

    guard: TextGuard | EventGuard
    text: str
    before: str
    rest: str


ENDS: Mapping[str, Ends] = {
    "by_line": Ends(by_line(), "one\ntwo", "one\n", "two"),
    "by_paragraph": Ends(by_paragraph(), "one\n\ntwo", "one\n\n", "two"),
    "by_sentence": Ends(by_sentence(), "One. Two.", "One. ", "Two."),
    "cap_chars": Ends(cap_chars(40), "x" * 20, "x" * 8, "x" * 12),
    "cap_tokens": Ends(cap_tokens(9), "one two", "one", " two"),
    "hold_release": Ends(hold_release(lambda _: None), "one", "", "one"),
    "json_only": Ends(json_only(), "So: [1, 2]\n[3]", "", "[3]"),
    "smooth": Ends(smooth(chars_per_second=0.1), "one two", "one", " two"),
    "stop_on": Ends(stop_on("END"), "the E", "the ", "E"),
    "think_tags": Ends(think_tags(), "a <thi", "a ", "<thi"),
}
BROKEN = OSError("the model broke")

by_guard = pytest.mark.parametrize("case", ENDS.values(), ids=ENDS)


def seen(
    each: TextGuard | EventGuard,
    events: Sequence[ChatEvent],
    end: Any = None,
    *,
    disposed: float = 1000,
) -> list[Any]:
    """What is seen of events in the frames from 10 on, and an end."""
    clock = TestScheduler()
    messages = [ReactiveTest.on_next(10 + n, each) for n, each in enumerate(events)]
    source = clock.create_cold_observable(*messages, *([end] if end else []))

    def answer(_: Observable[ChatRequest]) -> Observable[ChatEvent]:
        return source

    request = ChatRequest(messages=(UserMessage.of("hi"),))
    found = clock.start(
        lambda: just(request).pipe(guard(each)(answer)),
        created=1,
        subscribed=100,
        disposed=100 + disposed,
    )
    return [message.value for message in found.messages]


def said(notifications: Sequence[Any]) -> str:
    values = [each.value for each in notifications if isinstance(each, OnNext)]
    return "".join(each.text for each in values if isinstance(each, TextDelta))


@by_guard
@pytest.mark.parametrize("border", [ROUND, END], ids=["round", "end"])
def test_the_rest_leaves_before_the_end_of_each_answer(
    case: Ends, border: ChatEvent
) -> None:
    """S002-4."""
    found = seen(case.guard, [text(case.text), border], completed(60))

    assert found[-2:] == [OnNext(border), OnCompleted()]
    assert said(found) == case.before + case.rest


@by_guard
def test_the_rest_leaves_on_completion_where_there_is_no_end(case: Ends) -> None:
    """S002-4."""
    found = seen(case.guard, [text(case.text)], completed(60))

    assert found[-1] == OnCompleted()
    assert said(found) == case.before + case.rest


@by_guard
def test_an_error_arrives_and_the_rest_is_dropped(case: Ends) -> None:
    """S002-6."""
    found = seen(case.guard, [text(case.text)], failed(11, BROKEN))

    assert found[-1] == OnError(BROKEN)
    assert said(found) == case.before


@by_guard
def test_a_disposal_drops_the_rest(case: Ends) -> None:
    """S002-7."""
    events: list[ChatEvent] = [text(case.text), END]
    found = seen(case.guard, events, completed(60), disposed=10.5)

    assert said(found) == case.before


@by_guard
def test_each_round_starts_anew(case: Ends) -> None:
    """S002-9."""
    events: list[ChatEvent] = [text(case.text), ROUND, text(case.text), END]
    found = seen(case.guard, events, completed(900))

    assert said(found) == 2 * (case.before + case.rest)


class Batches:
    """Three items in one piece, as the seed's anchor has it."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def feed(self, item: str, /) -> Sequence[str]:
        self._held.append(item)
        return self.flush() if len(self._held) == 3 else ()

    def flush(self) -> Sequence[str]:
        batch, self._held = "".join(self._held), []
        return (batch,) if batch else ()


def test_seven_pieces_in_batches_of_three_are_three() -> None:
    """S002-2, S002-3, S002-4, S002-5: (3, 3, 1), the last one from the flush."""
    found = seen(Batches, [*map(text, "abcdefg"), END], completed(60))

    pieces = [text("abc"), text("def"), text("g")]
    assert found == [*map(OnNext, pieces), OnNext(END), OnCompleted()]


def test_coalesce_stands_among_guards() -> None:
    """The first piece at once, nothing lost, and the end behind it all."""
    calm = EventGuard(name="coalesce", operator=coalesce(5))

    found = seen(calm, [*map(text, "abc"), END], completed(60))

    assert found[:3] == [OnNext(text("a")), OnNext(text("bc")), OnNext(END)]


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (by_sentence, "by_sentence()"),
        (lambda: by_sentence(abbreviations=["corp"]), "by_sentence(abbreviations=1)"),
        (lambda: cap_tokens(2.5), "cap_tokens(2.5)"),
        (lambda: hold_release(lambda _: None), "EventGuard(name='hold_release')"),
    ],
)
def test_a_guard_says_its_name_and_what_it_was_made_with(
    make: Callable[[], object], shown: str
) -> None:
    assert repr(make()) == shown
