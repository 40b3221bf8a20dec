from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from reactivex import abc
from reactivex.scheduler import ImmediateScheduler
from reactivex.scheduler.eventloop import AsyncIOScheduler
from reactivex.testing import TestScheduler

from rxagent.errors import ConflictError, StoreError
from rxagent.memory.versions import check_id, next_version, write_time
from rxagent.runtime import LoopScheduler


def test_a_version_counts_the_writes() -> None:
    assert next_version("a", found=0, expected=None) == 1
    assert next_version("a", found=4, expected=4) == 5
    with pytest.raises(ConflictError) as at:
        next_version("a", found=4, expected=0)
    assert (at.value.expected, at.value.found) == (0, 4)


@pytest.mark.parametrize("id_", ["", "a\0", "\ud800"])
def test_an_id_that_some_store_could_not_keep_is_refused_by_all(id_: str) -> None:
    with pytest.raises(StoreError, match="choose another one") as at:
        check_id(id_)
    assert str(at.value).isascii()


def test_the_time_of_a_write_is_that_of_its_scheduler() -> None:
    scheduler = TestScheduler()
    scheduler.advance_to(60)

    assert write_time(scheduler) == datetime(1970, 1, 1, 0, 1, tzinfo=UTC)


def test_the_time_of_a_write_is_the_time_of_day_on_any_loop() -> None:
    """RxPY's own loop scheduler counts from the start of the machine."""
    loop = asyncio.new_event_loop()
    schedulers: list[abc.SchedulerBase | None] = [
        None,
        ImmediateScheduler(),
        AsyncIOScheduler(loop),
        LoopScheduler(loop),
    ]
    times = [write_time(scheduler) for scheduler in schedulers]
    loop.close()

    for each in times:
        assert each.tzinfo is UTC
        assert abs(each - datetime.now(UTC)) < timedelta(hours=1)
