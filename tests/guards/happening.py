"""Guards over events that happen at times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    RoundFinished,
    TextDelta,
    ToolCallDelta,
)
from rxagent.guards import EventGuard
from rxagent.messages import AssistantMessage
from rxagent.operators import just
from rxagent.responses import ChatResponse
from rxagent.usage import Usage

__all__ = [
    "CALL",
    "END",
    "ROUND",
    "VOID",
    "completed",
    "failed",
    "now",
    "played",
    "text",
    "thought",
]

_SAID = ChatResponse(message=AssistantMessage.of("ab"), usage=Usage(output_tokens=7))
END, ROUND = Finished(response=_SAID), RoundFinished(response=_SAID)
VOID = Retracted(reason="start over")
CALL = ToolCallDelta(index=0, name="weather")

completed, failed = ReactiveTest.on_completed, ReactiveTest.on_error


def text(said: str) -> TextDelta:
    return TextDelta(text=said)


def thought(said: str) -> ReasoningDelta:
    return ReasoningDelta(text=said)


def now(guard: EventGuard, *events: ChatEvent) -> list[ChatEvent]:
    """What leaves of events that come at once; the error is raised."""
    seen: list[ChatEvent] = []
    errors: list[Exception] = []
    just(*events).pipe(guard.operator).subscribe(seen.append, errors.append)
    if errors:
        raise errors[0]
    return seen


def played(
    guard: EventGuard,
    events: Sequence[tuple[int, ChatEvent]],
    end: Any = None,
    *,
    scheduler: TestScheduler | None = None,
    disposed: float = 1000,
) -> tuple[list[tuple[float, Any]], Any]:
    """What is seen when, from 0, of events at times; and the source."""
    clock = scheduler or TestScheduler()
    messages = [ReactiveTest.on_next(time, event) for time, event in events]
    source = clock.create_cold_observable(*messages, *([end] if end else []))
    found = clock.start(
        lambda: source.pipe(guard.operator),
        created=1,
        subscribed=100,
        disposed=100 + disposed,
    )
    return [(each.time - 100, each.value) for each in found.messages], source
