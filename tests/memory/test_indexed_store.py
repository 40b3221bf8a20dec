from __future__ import annotations

from collections.abc import Collection

import pytest
import reactivex
from reactivex import Observable

from rxagent.advisors import memory, vector_memory
from rxagent.agent import Agent
from rxagent.errors import ConflictError, StoreError
from rxagent.memory import (
    IndexedStore,
    LexicalEmbedder,
    MemoryIndex,
    MemoryStore,
    VectorEntry,
    rollback,
)
from rxagent.messages import UserMessage
from rxagent.runtime import run
from rxagent.testing import ScriptedModel, assert_store_contract


def remembered(index: MemoryIndex, conversation: str) -> int:
    found = run(index.search([1.0], limit=9, conversation=conversation))
    return len(found)


def texts(index: MemoryIndex) -> list[str]:
    found = run(index.search([0.0] * 256, limit=9))
    return [each.entry.text for each in found]


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


def test_what_is_taken_back_is_not_recalled_and_what_stays_is() -> None:
    index = MemoryIndex()
    store = IndexedStore(MemoryStore(), index)
    model = ScriptedModel("A", "B", "C")
    advisors = [memory(store), vector_memory(index, LexicalEmbedder())]
    context = {"rxagent.conversation_id": "a"}
    agent = Agent(model, advisors=advisors, context=context)
    agent.call("one").run()
    agent.call("two").run()

    run(rollback(store, "a"))

    assert texts(index) == ["one", "A"]
    with pytest.raises(ConflictError):
        run(store.replace("a", (), expected_version=1))
    assert texts(index) == ["one", "A"]


def test_what_could_not_be_deleted_can_be_deleted_again() -> None:
    class Stuck(MemoryIndex):
        def delete(
            self, conversation: str, *, ids: Collection[str] | None = None
        ) -> Observable[int]:
            return reactivex.throw(StoreError(conversation, "is stuck"))

    inside = MemoryStore()
    run(inside.append("a", [UserMessage.of("hi")]))

    with pytest.raises(StoreError, match="is stuck"):
        run(IndexedStore(inside, Stuck()).delete("a"))

    assert run(IndexedStore(inside, MemoryIndex()).delete("a"))
