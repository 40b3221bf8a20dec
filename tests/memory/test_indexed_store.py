from __future__ import annotations

import pytest
import reactivex
from reactivex import Observable

from rxagent.errors import StoreError
from rxagent.memory import IndexedStore, MemoryIndex, MemoryStore, VectorEntry
from rxagent.messages import UserMessage
from rxagent.runtime import run
from rxagent.testing import assert_store_contract


def remembered(index: MemoryIndex, conversation: str) -> int:
    found = run(index.search([1.0], limit=9, conversation=conversation))
    return len(found)


def entry(conversation: str) -> VectorEntry:
    return VectorEntry(
        id="m", conversation=conversation, role="user", text="hi", vector=(1.0,)
    )


def test_a_store_with_an_index_keeps_the_contract() -> None:
    assert_store_contract(IndexedStore(MemoryStore(), MemoryIndex()))


def test_deleting_takes_the_vectors_too() -> None:
    index = MemoryIndex()
    store = IndexedStore(MemoryStore(), index)
    run(store.append("a", [UserMessage.of("hi")]))
    run(index.add([entry("a"), entry("b")]))

    assert run(store.delete("a"))

    assert remembered(index, "a") == 0
    assert remembered(index, "b") == 1
    assert run(store.delete("b")), "there were vectors, though no messages"
    assert not run(store.delete("b"))


def test_what_could_not_be_deleted_can_be_deleted_again() -> None:
    class Stuck(MemoryIndex):
        def delete(self, conversation: str) -> Observable[int]:
            return reactivex.throw(StoreError(conversation, "is stuck"))

    inside = MemoryStore()
    run(inside.append("a", [UserMessage.of("hi")]))

    with pytest.raises(StoreError, match="is stuck"):
        run(IndexedStore(inside, Stuck()).delete("a"))

    assert run(IndexedStore(inside, MemoryIndex()).delete("a"))
