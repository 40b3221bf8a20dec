from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable
from reactivex import operators as ops
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from rxagent.errors import ConfigurationError, StreamError
from rxagent.operators import just
from rxagent.requests import ToolSpec
from rxagent.runtime import LoopScheduler
from rxagent.search.kept_indexes import KeptIndexes
from rxagent.search.tool_index import Search
from tests.search.catalogue import spec, value_of


class Index:
    """Counts what it makes; ``made`` says when it is there."""

    query = "anything"

    def __init__(self, made: Observable[object] | None = None) -> None:
        self.indexed: list[list[str]] = []
        self._made = made or just(None)

    def index(self, tools: Sequence[ToolSpec], /) -> Observable[Search]:
        def search(query: str, limit: int) -> Observable[Sequence[str]]:
            return just([query])

        def begin(_: object) -> Search:
            return search

        def count(_: object) -> Observable[object]:
            self.indexed.append([tool.name for tool in tools])
            return self._made

        return just(None).pipe(ops.flat_map(count), ops.map(begin))


def test_the_same_list_is_indexed_once_and_another_anew() -> None:
    """S000-45, V-17, acceptance 79."""
    index = Index()
    kept = KeptIndexes(index)
    tools = [spec("b"), spec("a")]
    one, again = value_of(kept.over(tools)), value_of(kept.over([spec("a"), spec("b")]))
    assert one is again
    assert index.indexed == [["a", "b"]]

    value_of(kept.over([*tools, spec("c")]))
    value_of(kept.over([spec("a", "Now described."), spec("b")]))
    value_of(kept.over(tools))
    assert index.indexed == [["a", "b"], ["a", "b", "c"], ["a", "b"]]


def test_what_was_searched_longest_ago_is_forgotten() -> None:
    """S001-77, S000-104: bounded."""
    index = Index()
    kept = KeptIndexes(index)
    first = [spec("first")]
    for number in range(40):
        value_of(kept.over(first))
        value_of(kept.over([spec(f"t{number}")]))
    assert len(index.indexed) == 41
    value_of(kept.over([spec("t0")]))
    assert len(index.indexed) == 42


def test_nothing_is_made_before_somebody_searches() -> None:
    index = Index()
    KeptIndexes(index).over([spec("a")])
    assert index.indexed == []


def test_those_who_come_while_it_is_made_wait_for_it() -> None:
    made = Subject[object]()
    index = Index(made)
    kept = KeptIndexes(index)
    seen: list[Search] = []
    for _ in range(3):
        kept.over([spec("a")]).subscribe(seen.append)
    made.on_next(None)
    made.on_completed()
    assert len(index.indexed) == 1
    assert len(seen) == 3


def test_if_all_leave_it_is_not_made_and_who_comes_later_begins_anew() -> None:
    made = Subject[object]()
    index = Index(made)
    kept = KeptIndexes(index)
    one, other = (kept.over([spec("a")]).subscribe() for _ in range(2))
    one.dispose()
    assert made.observers
    other.dispose()
    other.dispose()
    assert not made.observers

    seen: list[Search] = []
    kept.over([spec("a")]).subscribe(seen.append)
    made.on_next(None)
    assert len(seen) == 1
    assert len(index.indexed) == 2


def test_a_failure_is_told_to_who_began_and_the_next_begins_anew() -> None:
    first, second = Subject[object](), Subject[object]()
    runs = iter([first, second])
    index = Index(just(None).pipe(ops.flat_map(lambda _: next(runs))))
    kept = KeptIndexes(index)
    errors: list[Exception] = []
    seen: list[Search] = []
    for _ in range(2):
        kept.over([spec("a")]).subscribe(seen.append, errors.append)
    first.on_error(StreamError("down"))
    assert [str(error) for error in errors] == ["down"]
    second.on_next(None)
    assert len(seen) == 1


def test_an_index_that_ends_without_a_search_is_an_error() -> None:
    kept = KeptIndexes(Index(just()))
    with pytest.raises(ConfigurationError, match="without a search"):
        value_of(kept.over([spec("a")]))


def test_nobody_waits_for_another_loop() -> None:
    made = Subject[object]()
    index = Index(made)
    kept = KeptIndexes(index)
    loops = [asyncio.new_event_loop() for _ in range(2)]
    for loop in loops:
        kept.over([spec("a")]).subscribe(scheduler=LoopScheduler(loop))
    assert len(index.indexed) == 2
    made.on_next(None)
    assert len(index.indexed) == 2
    value_of(kept.over([spec("a")]))
    assert len(index.indexed) == 2
    for loop in loops:
        loop.close()


def test_any_threads_may_search() -> None:
    index = Index()
    kept = KeptIndexes(index)
    barrier = threading.Barrier(4)

    def search(number: int) -> Search:
        barrier.wait(5)
        return value_of(kept.over([spec(f"t{number % 2}")]))

    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            assert all(pool.map(search, range(4)))


@given(st.lists(st.integers(0, 3), max_size=12))
def test_a_search_is_always_over_the_list_that_was_asked_for(asked: list[int]) -> None:
    kept = KeptIndexes(Index())
    lists = [[spec(f"t{n}")] for n in range(4)]
    made = {n: value_of(kept.over(lists[n])) for n in asked}
    assert all(value_of(kept.over(lists[n])) is made[n] for n in asked)


def test_the_scheduler_is_handed_on() -> None:
    scheduler = TestScheduler()
    late = just(None).pipe(ops.delay(10))
    seen: list[Search] = []
    KeptIndexes(Index(late)).over([spec("a")]).subscribe(
        seen.append, scheduler=scheduler
    )
    assert seen == []
    scheduler.start()
    assert len(seen) == 1
