from __future__ import annotations

from datetime import UTC, datetime

from reactivex.testing import TestScheduler

from rxagent.memory import ConversationInfo, MemoryStore
from rxagent.messages import UserMessage
from rxagent.runtime import run
from rxagent.testing import assert_store_contract


def test_the_store_in_memory_keeps_the_contract() -> None:
    """M-57, S001-28, S003-9."""
    assert_store_contract(MemoryStore())


def test_what_is_loaded_is_what_was_written_and_no_copy() -> None:
    store, message = MemoryStore(), UserMessage.of("hello")

    run(store.append("a", [message]))

    assert run(store.load("a")).messages[0] is message


def test_a_write_is_stamped_with_the_time_of_its_subscription() -> None:
    store, scheduler = MemoryStore(), TestScheduler()
    listed: list[ConversationInfo] = []
    write = store.append("a", [UserMessage.of("hello")])

    scheduler.advance_to(90)
    write.subscribe(scheduler=scheduler)
    store.conversations().subscribe(listed.append)

    [info] = listed
    assert info.updated_at == datetime(1970, 1, 1, 0, 1, 30, tzinfo=UTC)
