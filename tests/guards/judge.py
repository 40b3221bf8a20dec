"""A check in virtual time that remembers what it was asked, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reactivex import Observable
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.events import ChatEvent, Finished, RoundFinished, TextDelta
from rxagent.guards import EventGuard
from rxagent.messages import AssistantMessage
from rxagent.requests import Origin
from rxagent.responses import ChatResponse

__all__ = ["Judge", "Played", "end", "play", "round_end", "text", "texts_of"]

on_next, on_completed = ReactiveTest.on_next, ReactiveTest.on_completed


class Judge:
    """Lets pass what holds none of ``bad``.

    Args:
        scheduler: Whose time it takes.
        bad: Texts that must not pass.
        takes: How long a verdict takes.
        takes_by: How long it takes for a text.
    """

    def __init__(
        self,
        scheduler: TestScheduler,
        *bad: str,
        takes: int = 30,
        takes_by: Mapping[str, int] | None = None,
    ) -> None:
        self.asked: list[str] = []
        self._scheduler = scheduler
        self._bad = bad
        self._takes = takes
        self._takes_by = takes_by or {}
        self._sources: list[Any] = []

    def __call__(self, text: str) -> Observable[bool]:
        takes = self._takes_by.get(text, self._takes)
        passes = not any(each in text for each in self._bad)
        source = self._scheduler.create_cold_observable(
            on_next(takes, passes), on_completed(takes)
        )
        self.asked.append(text)
        self._sources.append(source)
        return source

    @property
    def runs(self) -> list[tuple[str, float, float]]:
        """Each text, when its check began and when it ended or was stopped."""
        return [
            (text, each.subscribe, each.unsubscribe)
            for text, source in zip(self.asked, self._sources, strict=True)
            for each in source.subscriptions
        ]


class Played:
    """What comes of a source and a guard, and when the source was left."""

    def __init__(self, messages: list[Any], subscriptions: list[Any]) -> None:
        self.messages = messages
        self.subscriptions = subscriptions

    @property
    def events(self) -> list[tuple[float, Any]]:
        """Times and events, without the end."""
        return [(m.time, m.value.value) for m in self.messages if m.value.kind == "N"]

    @property
    def text(self) -> str:
        """All text that came."""
        return texts_of([event for _, event in self.events])

    @property
    def error(self) -> tuple[float, Exception] | None:
        """When it failed, and with what."""
        last = self.messages[-1]
        return (last.time, last.value.exception) if last.value.kind == "E" else None


def text(said: str, *, run: str = "") -> TextDelta:
    return TextDelta(text=said, origin=Origin(run_id=run))


def end(said: str = "") -> Finished:
    return Finished(response=ChatResponse(message=AssistantMessage.of(said)))


def round_end(said: str = "") -> RoundFinished:
    return RoundFinished(response=ChatResponse(message=AssistantMessage.of(said)))


def texts_of(events: Sequence[ChatEvent]) -> str:
    return "".join(each.text for each in events if isinstance(each, TextDelta))


def play(
    scheduler: TestScheduler,
    guard: EventGuard,
    *events: tuple[int, ChatEvent],
    ending: Any = None,
    disposed: float = 1000,
) -> Played:
    """Run ``events`` through ``guard``; the source completes right after the last.

    Subscribed at 200, so an event at 10 comes at 210.
    """
    last = ending or on_completed(events[-1][0])
    messages = [on_next(time, event) for time, event in events]
    source = scheduler.create_cold_observable(*messages, last)
    found = scheduler.start(lambda: source.pipe(guard.operator), disposed=disposed)
    return Played(found.messages, source.subscriptions)
