from __future__ import annotations

from collections.abc import Iterable

import pytest
import reactivex
from reactivex import Observable

from rxagent.advisors import memory, vector_memory
from rxagent.agent import Agent
from rxagent.errors import ConfigurationError, ConflictError, RetrievalError
from rxagent.memory import LexicalEmbedder, MemoryStore, fork, rollback
from rxagent.messages import UserMessage
from rxagent.retrieval import Field, Filter, IndexedStore, MemoryDocuments
from rxagent.retrieval.remembered import remembered
from rxagent.runtime import run
from rxagent.testing import ScriptedModel, assert_store_contract

HI = UserMessage.of("hi")


def count(index: MemoryDocuments, conversation: str) -> int:
    return len(run(index.ids(Field("conversation_id") == conversation)))


def texts(index: MemoryDocuments) -> list[str]:
    return [each.document.text for each in index._kept.values()]


def test_a_store_with_an_index_keeps_the_contract() -> None:
    assert_store_contract(IndexedStore(MemoryStore(), MemoryDocuments()))


def test_deleting_takes_the_vectors_too() -> None:
    index = MemoryDocuments()
    store = IndexedStore(MemoryStore(), index)
    run(store.append("a", [HI]))
    run(index.add([remembered("a", HI), remembered("b", HI)]))

    assert run(store.delete("a"))

    assert count(index, "a") == 0
    assert count(index, "b") == 1
    assert run(store.delete("b")), "there were documents, though no messages"
    assert not run(store.delete("b"))


def test_what_is_taken_back_is_not_recalled_and_what_stays_is() -> None:
    index = MemoryDocuments(LexicalEmbedder())
    store = IndexedStore(MemoryStore(), index)
    model = ScriptedModel("A", "B", "C")
    advisors = [memory(store), vector_memory(index)]
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
    class Stuck(MemoryDocuments):
        def delete(self, which: Iterable[str] | Filter) -> Observable[int]:
            return reactivex.throw(RetrievalError("is stuck"))

    inside = MemoryStore()
    run(inside.append("a", [UserMessage.of("hi")]))

    with pytest.raises(RetrievalError, match="is stuck"):
        run(IndexedStore(inside, Stuck()).delete("a"))

    assert run(IndexedStore(inside, MemoryDocuments()).delete("a"))


def test_a_fork_leaves_what_is_remembered_of_the_other_conversation() -> None:
    index = MemoryDocuments()
    store = IndexedStore(MemoryStore(), index)
    run(store.append("a", [HI]))
    run(index.add([remembered("a", HI)]))
    run(fork(store, "a", "b"))

    assert run(store.delete("b"))
    assert count(index, "a") == 1


def test_what_is_no_store_and_no_index_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="store takes a store"):
        IndexedStore(MemoryDocuments(), MemoryDocuments())  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="index takes an index"):
        IndexedStore(MemoryStore(), LexicalEmbedder())  # type: ignore[arg-type]
