from __future__ import annotations

import asyncio
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex.testing import ReactiveTest, TestScheduler
from reactivex.testing.subscription import Subscription

from rxagent.guards.verdicts import Answer, Verdict, verdict_of
from rxagent.operators import just
from rxagent.runtime import Flow

on_next, on_completed = ReactiveTest.on_next, ReactiveTest.on_completed


def ends_of(answer: Answer) -> list[object]:
    ends: list[object] = []
    source = verdict_of(lambda _: answer, "text", timeout_s=None)
    source.subscribe(ends.append, ends.append, lambda: ends.append("completed"))
    return ends


@pytest.mark.parametrize("verdict", [True, False, "", "violence"])
def test_a_verdict_is_a_verdict_however_it_comes(verdict: Verdict) -> None:
    async def later() -> Verdict:
        await asyncio.sleep(0)
        return verdict

    assert ends_of(verdict) == [verdict, "completed"]
    assert ends_of(just(verdict, not verdict)) == [verdict, "completed"]
    source = verdict_of(lambda _: later(), "text", timeout_s=5)
    assert Flow[Verdict].of(source).run() == verdict


@pytest.mark.parametrize("said", [None, 1, b"no", []])
def test_anything_else_is_no_verdict(said: object) -> None:
    for answer in (said, just(said)):
        (error,) = ends_of(answer)  # type: ignore[arg-type]
        assert isinstance(error, TypeError)
        assert "it says True, False or a text" in str(error)


def test_a_check_is_asked_anew_for_each_subscription() -> None:
    asked: list[str] = []

    def check(text: str) -> bool:
        asked.append(text)
        return True

    source = verdict_of(check, "text", timeout_s=None)
    assert asked == []
    source.subscribe()
    source.subscribe()
    assert asked == ["text", "text"]


@pytest.mark.parametrize(("takes", "left"), [(49, 249), (51, 250), (1000, 250)])
def test_a_check_is_left_at_its_verdict_or_when_time_is_up(
    takes: int, left: int
) -> None:
    time = TestScheduler()
    answer = time.create_cold_observable(on_next(takes, True))
    source: Observable[Verdict] = verdict_of(lambda _: answer, "", timeout_s=50)

    found: list[Any] = time.start(lambda: source).messages

    assert answer.subscriptions == [Subscription(200, left)]
    assert (found[0].time, found[0].value.kind) == (left, "N" if takes < 50 else "E")


def test_a_coroutine_is_cancelled_when_it_is_left() -> None:
    ended: list[str] = []

    async def check(_: str) -> bool:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")
        return True

    async def leave() -> None:
        running = verdict_of(check, "", timeout_s=None).subscribe()
        await asyncio.sleep(0)
        running.dispose()
        await asyncio.sleep(0)

    asyncio.run(leave())
    assert ended == ["cancelled"]


def test_an_error_of_the_check_is_the_error() -> None:
    broken = ValueError("broken")
    assert ends_of(reactivex.throw(broken)) == [broken]
