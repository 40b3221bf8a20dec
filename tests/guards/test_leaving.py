"""A memory right of a guard: whether the reader has left, or the guard has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent import Agent
from rxagent.advisors import memory
from rxagent.errors import GuardError
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.guards import EventGuard, guard, moderate
from rxagent.memory import CONVERSATION_ID, Conversation, MemoryStore
from rxagent.messages import AssistantMessage, Message
from rxagent.operators import concat_each
from rxagent.responses import ChatResponse

PIECES = ("Fine. ", "Bad. ", "More. ", "End.")
WHOLE = ChatResponse(message=AssistantMessage.of("".join(PIECES)))


def is_fine(text: str) -> Observable[bool]:
    """The check of the bad sentence is faster than that of the one before."""
    takes_s = 1.0 if "Bad" in text else 25.0
    return reactivex.timer(takes_s).pipe(ops.map(lambda _: "Bad" not in text))


def kept(
    each: EventGuard, on_failure: Any, *, leaves_at: float = 900
) -> tuple[Sequence[Message], list[Exception]]:
    """What a memory keeps, and the errors; a piece comes every ten frames."""
    clock = TestScheduler()
    events = [*(TextDelta(text=text) for text in PIECES), Finished(response=WHOLE)]
    messages: list[Any] = [
        ReactiveTest.on_next(10 * number, event)
        for number, event in enumerate(events, start=1)
    ]
    answer: Observable[ChatEvent] = clock.create_cold_observable(
        *messages, ReactiveTest.on_completed(50)
    )
    store = MemoryStore()
    agent = Agent(
        concat_each(lambda _: answer),
        advisors=[guard(each), memory(store, on_failure=on_failure)],
        context={CONVERSATION_ID.name: "c"},
    )
    errors: list[Exception] = []
    reading = agent.stream("hi").subscribe(on_error=errors.append, scheduler=clock)
    clock.schedule_absolute(leaves_at, lambda *_: reading.dispose())
    clock.start()
    found: list[Conversation] = []
    store.load("c").subscribe(found.append)
    return found[0].messages, errors


@pytest.mark.parametrize("mode", ["hold", "live"])
@pytest.mark.parametrize("on_failure", ["mark", "keep_user", "discard"])
def test_what_is_stopped_is_not_kept_though_the_error_comes_later(
    mode: Any, on_failure: Any
) -> None:
    messages, errors = kept(moderate(is_fine, mode=mode), on_failure)

    assert [type(each) for each in errors] == [GuardError]
    assert messages == ()


def test_what_a_reader_has_left_is_kept_as_ever() -> None:
    messages, errors = kept(moderate(is_fine), "mark", leaves_at=15)

    assert errors == []
    assert [(each.text, each.mark) for each in messages] == [
        ("hi", None),
        ("Fine. ", "interrupted"),
    ]


def test_a_guard_that_ends_the_stream_without_an_error_has_stopped_nothing() -> None:
    first = EventGuard(name="first", operator=ops.take(1))

    messages, _ = kept(first, "keep_user")

    assert [each.text for each in messages] == ["hi"]


def test_an_answer_that_passes_is_kept() -> None:
    messages, errors = kept(moderate(lambda _: True), "mark")

    assert errors == []
    assert [each.text for each in messages] == ["hi", "".join(PIECES)]
