from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rxagent.errors import StoreError
from rxagent.memory import MemoryIndex, VectorEntry
from rxagent.runtime import run

VECTORS = st.tuples(*[st.floats(-9, 9, allow_subnormal=False)] * 3)


def entry(
    name: str, *vector: float, conversation: str = "c", text: str = ""
) -> VectorEntry:
    return VectorEntry(
        id=name, conversation=conversation, role="user", text=text, vector=vector
    )


def found(index: MemoryIndex, *vector: float, limit: int = 9) -> list[str]:
    return [match.entry.id for match in run(index.search(vector, limit=limit))]


def test_the_closest_is_first_whatever_its_length() -> None:
    index = MemoryIndex()
    run(index.add([entry("far", -5, 0), entry("near", 9, 1), entry("same", 0.1, 0)]))

    matches = run(index.search([3.0, 0.0], limit=9))

    assert [match.entry.id for match in matches] == ["same", "near", "far"]
    assert [round(match.score, 3) for match in matches] == [1.0, 0.994, -1.0]
    assert found(index, 3, 0, limit=2) == ["same", "near"]
    assert found(index, 3, 0, limit=0) == []


def test_what_is_equally_close_stands_in_its_order() -> None:
    index = MemoryIndex()
    run(index.add([entry(name, 1, 0) for name in "cab"]))

    assert found(index, 1, 0) == ["c", "a", "b"]
    assert found(index, 0, 0) == ["c", "a", "b"]


@settings(max_examples=50)
@given(vectors=st.lists(VECTORS, max_size=8), wanted=VECTORS)
def test_a_score_is_a_cosine(
    vectors: list[tuple[float, ...]], wanted: tuple[float, ...]
) -> None:
    index = MemoryIndex()
    run(index.add([entry(str(n), *each) for n, each in enumerate(vectors)]))

    scores = [match.score for match in run(index.search(wanted, limit=99))]

    assert len(scores) == len(vectors)
    assert scores == sorted(scores, reverse=True)
    assert all(-1.000001 <= score <= 1.000001 for score in scores)


def test_an_entry_takes_the_place_of_the_one_with_its_id() -> None:
    index = MemoryIndex()
    run(index.add([entry("a", 1, 0, text="old")]))
    run(index.add([entry("a", 1, 0, text="new")]))
    run(index.add([entry("a", 1, 0, conversation="other", text="another")]))

    matches = run(index.search([1.0, 0.0], limit=9, conversation="c"))

    assert [match.entry.text for match in matches] == ["new"]
    assert len(found(index, 1, 0)) == 2


def test_deleting_forgets_a_conversation_and_no_other() -> None:
    index = MemoryIndex()
    run(index.add([entry("a", 1, 0), entry("b", 0, 1)]))
    run(index.add([entry("d", 1, 0, conversation="other")]))

    assert run(index.delete("c")) == 2
    assert run(index.delete("c")) == 0
    assert found(index, 1, 0) == ["d"]


def test_a_part_of_a_conversation_may_be_forgotten() -> None:
    index = MemoryIndex()
    run(index.add([entry("a", 1, 0), entry("b", 0, 1)]))
    run(index.add([entry("a", 1, 0, conversation="other")]))

    assert run(index.delete("c", ids=["a", "nobody"])) == 1
    assert run(index.delete("c", ids=[])) == 0
    assert len(found(index, 1, 0)) == 2
    assert run(index.delete("c", ids=["b"])) == 1
    assert run(index.delete("c")) == 0


def test_vectors_of_another_embedder_are_an_error() -> None:
    index = MemoryIndex()
    run(index.add([entry("a", 1, 0, 0)]))

    with pytest.raises(StoreError, match=r"a vector of 3 numbers, and one of 2"):
        found(index, 1, 0)


def test_an_observable_is_cold() -> None:
    index, given = MemoryIndex(), [entry("a", 1, 0)]
    add = index.add(given)
    given.clear()

    assert found(index, 1, 0) == []
    assert [run(add), run(add)] == [1, 1]
    assert found(index, 1, 0) == ["a"]


def test_threads_lose_nothing() -> None:
    index = MemoryIndex()
    with ThreadPoolExecutor(8) as pool:
        added = pool.map(lambda n: run(index.add([entry(str(n), 1, n)])), range(80))
        assert sum(added) == 80

    assert sorted(map(int, found(index, 1, 0, limit=99))) == [*range(80)]
