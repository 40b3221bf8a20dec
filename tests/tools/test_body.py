from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops

from rxagent.context import Key, Write
from rxagent.events import ToolProgress
from rxagent.runtime import block, iterate
from rxagent.tools import Job, Outcome, ToolContext, tool
from rxagent.tools.body import Began, BodyEvent, Raised, Reported, Returned, run_body
from rxagent.tools.threads import in_thread
from tests.tools.scene import answer, calling, ends

CALL = calling("it")
NOTE = Key("note", str)


async def heard(
    function: Callable[..., object], *, timed: bool, trail: list[str]
) -> list[BodyEvent]:
    async def submit(job: Job, began: Callable[[], None] | None) -> Outcome:
        trail.append("waits")
        return await in_thread(job, began)

    body = run_body(tool(function, name="it"), {}, submit, timed=timed)
    told = body.pipe(ops.do_action(lambda event: trail.append(type(event).__name__)))
    async with aclosing(iterate(told)) as events:
        return [event async for event in events]


def plain() -> int:
    return 7


async def coroutine() -> int:
    return 7


async def makes_a_generator() -> Iterator[int]:
    return generator()


def generator() -> Iterator[int]:
    yield 7


def observable() -> Observable[int]:
    return reactivex.of(7)


@functools.wraps(generator)
def wrapped() -> Iterator[int]:
    return generator()


FUNCTIONS: list[tuple[Callable[[], Any], str]] = [
    (plain, "waits"),
    (coroutine, "Began"),
    (generator, "waits"),
    (observable, "Began"),
    (wrapped, "waits"),
    (makes_a_generator, "Began"),
]


@pytest.mark.parametrize(("function", "first"), FUNCTIONS)
def test_a_body_that_is_timed_says_once_when_it_begins(
    function: Callable[[], Any], first: str
) -> None:
    """M-29: what waits for a place has not begun."""
    trail: list[str] = []

    timed = asyncio.run(heard(function, timed=True, trail=trail))
    untimed = asyncio.run(heard(function, timed=False, trail=[]))

    assert timed == [Began(), *untimed]
    assert Began() not in untimed
    assert untimed[-1] == Returned(7)
    assert trail[0] == first


def test_a_body_that_raises_ends_with_what_it_raised() -> None:
    error = ValueError("disk full")

    def fails() -> Iterator[int]:
        yield 1
        raise error

    events = asyncio.run(heard(fails, timed=True, trail=[]))

    assert events == [Began(), Reported(1), Raised(error)]


def late_generator(seen: ToolContext) -> Iterator[int]:
    seen.set(NOTE, "early")
    yield 1
    seen.set(NOTE, "late")


@functools.wraps(late_generator)
def late_wrapped(seen: ToolContext) -> Iterator[int]:
    return late_generator(seen)


def late_observable(seen: ToolContext) -> Observable[int]:
    def write(_: int) -> int:
        seen.set(NOTE, "late")
        return 1

    seen.set(NOTE, "early")
    return reactivex.of(1).pipe(ops.map(write))


def late_unannotated(seen: ToolContext):  # type: ignore[no-untyped-def]
    return late_observable(seen)


@pytest.mark.parametrize(
    "function", [late_generator, late_wrapped, late_observable, late_unannotated]
)
def test_what_a_tool_writes_until_its_end_counts(function: Callable[..., Any]) -> None:
    """S000-6."""
    events = list(block(answer(CALL, tool(function, name="it"))))

    assert [event.value for event in events if isinstance(event, ToolProgress)] == [1]
    (end,) = ends(events)
    assert end.writes == (Write(NOTE, "early"), Write(NOTE, "late"))
