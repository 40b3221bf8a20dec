"""What every index promises, on those that need no server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rxagent.errors import RetrievalError
from rxagent.memory import LexicalEmbedder
from rxagent.operators import just
from rxagent.retrieval import (
    AllOf,
    AnyOf,
    Document,
    DocumentIndex,
    Field,
    Filter,
    MemoryDocuments,
    Metadata,
    Query,
    SqliteDocuments,
)
from rxagent.runtime import run
from rxagent.testing import (
    assert_index_contract,
    assert_vector_contract,
    uneven_vectors,
)
from tests.retrieval.answers import assert_same_answers
from tests.retrieval.chance import FILTERS, METADATA

EMBEDDER = LexicalEmbedder()


@contextmanager
def memory(_: Path) -> Generator[MemoryDocuments]:
    yield MemoryDocuments()


@contextmanager
def memory_by_vector(_: Path) -> Generator[MemoryDocuments]:
    yield MemoryDocuments(EMBEDDER)


@contextmanager
def sqlite(folder: Path) -> Generator[SqliteDocuments]:
    with SqliteDocuments(folder / "documents.db") as index:
        yield index


@contextmanager
def sqlite_by_vector(folder: Path) -> Generator[SqliteDocuments]:
    with SqliteDocuments(folder / "documents.db", embedder=EMBEDDER) as index:
        yield index


Opened = Callable[[Path], AbstractContextManager[MemoryDocuments | SqliteDocuments]]
by_index = pytest.mark.parametrize(
    "opened", [memory, memory_by_vector, sqlite, sqlite_by_vector]
)
by_vector = pytest.mark.parametrize("opened", [memory_by_vector, sqlite_by_vector])


@by_index
def test_an_index_keeps_the_contract(opened: Opened, tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        assert_index_contract(index)


def test_vectors_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    assert_vector_contract(MemoryDocuments(uneven_vectors))
    with SqliteDocuments(tmp_path / "d.db", embedder=uneven_vectors) as index:
        assert_vector_contract(index)


@pytest.mark.parametrize("opened", [memory, sqlite])
def test_a_list_of_any_length_is_looked_up_at_once(
    opened: Opened, tmp_path: Path
) -> None:
    """SQLite takes 250,000 parameters, and as long as the square of conditions."""
    known: list[Metadata] = [
        *({"a": 1}, {"a": 1.5}, {"a": "1"}, {"a": [True, 2]}, {"a": []}, {}),
    ]
    one_by_one = AnyOf.joined(Field("a") == number for number in range(1, 9_000))
    mixed = Field("a").is_in([*map(str, range(9_000)), 1.5, True, 3])
    with opened(tmp_path) as index:
        for wanted in (one_by_one, ~one_by_one, mixed, ~mixed):
            assert_same_answers(index, known, wanted)
        assert_same_answers(index, known, Field("a").is_in(range(1, 251_000)))


def test_more_comparisons_than_sqlite_takes_well_are_refused(tmp_path: Path) -> None:
    fields = [Field(f"a{number}") == number for number in range(4_001)]
    with SqliteDocuments(tmp_path / "d.db") as index:
        assert run(index.ids(AnyOf.joined(fields[1:]))) == ()
        acts = (
            index.ids(AnyOf.joined(fields)),
            index.delete(AnyOf.joined(fields)),
            index.search(Query(text="x", filter=AllOf.joined(fields))),
        )
        for act in acts:
            with pytest.raises(RetrievalError, match=r"4,001 .* by a list: Field"):
                run(act)


@by_index
def test_a_filter_says_the_same_on_every_index(opened: Opened, tmp_path: Path) -> None:
    """What "two tenants never see each other's documents" rests on."""

    @settings(
        max_examples=80,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
        deadline=None,
    )
    @given(st.lists(METADATA, min_size=1, max_size=6), FILTERS)
    def same(known: list[Metadata], wanted: Filter) -> None:
        assert_same_answers(index, known, wanted)

    with opened(tmp_path) as index:
        same()


TEXTS = {
    "cat": "The cat sleeps on the warm mat",
    "dog": "Dogs chase cats through gardens",
    "sky": "今天天气很好, 我们去公园",
    "sea": "東京の海は青い",
    "tea": "차를 마시다",
    "van": "Straße und Fähre",
}


@pytest.mark.parametrize("opened", [memory, sqlite])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("天气", ["sky"]),
        ("天", ["sky"]),
        ("海", ["sea"]),
        ("東京", ["sea"]),
        ("마시", ["tea"]),
        ("STRASSE", ["van"]),
        ("garden's gardens", ["dog"]),
        ('"AND" OR NOT NEAR(', []),
        ("xyzzy", []),
        ("天海", []),
    ],
)
def test_words_are_found_in_every_script(
    opened: Opened, tmp_path: Path, text: str, wanted: list[str]
) -> None:
    with opened(tmp_path) as index:
        run(index.add([Document(id=id_, text=text) for id_, text in TEXTS.items()]))
        found = run(index.by_words(Query(text=text, top_k=1)))
        assert [each.id for each in found] == wanted


def test_english_words_are_stemmed_in_sqlite(tmp_path: Path) -> None:
    with sqlite(tmp_path) as index:
        run(index.add([Document(id=id_, text=text) for id_, text in TEXTS.items()]))
        found = run(index.by_words(Query(text="sleeping chased")))
        assert {each.id for each in found} == {"cat", "dog"}


@by_index
def test_a_query_may_be_long(opened: Opened, tmp_path: Path) -> None:
    words = " ".join(f"w{number}" for number in range(3_000))
    with opened(tmp_path) as index:
        run(index.add([Document(id="x", text="w2999")]))
        assert len(run(index.by_words(Query(text=words)))) == 1


@by_vector
def test_vectors_of_two_embedders_do_not_mix(opened: Opened, tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        run(index.add([Document(id="a", text="one")]))
        index._embedder = LexicalEmbedder(dimensions=8)
        with pytest.raises(RetrievalError, match=r"vectors of 256 numbers.*8;"):
            run(index.add([Document(id="b", text="two")]))
        with pytest.raises(RetrievalError, match="begin with a new index"):
            run(index.by_vector(Query(text="two")))
        assert run(index.ids(Field("x").is_null())) == ("a",)


@by_vector
def test_an_embedder_makes_one_vector_of_each_text(
    opened: Opened, tmp_path: Path
) -> None:
    with opened(tmp_path) as index:
        index._embedder = lambda _: just(((1.0,), (0.0,)))
        with pytest.raises(RetrievalError, match="2 vectors of 1 texts"):
            run(index.add([Document(id="a", text="one")]))


@by_vector
def test_what_has_no_meaning_is_kept_and_found_by_none(
    opened: Opened, tmp_path: Path
) -> None:
    with opened(tmp_path) as index:
        blank = [Document(id="a", text=" "), Document(id="b", text="...")]
        assert run(index.add(blank)) == 2
        assert run(index.search(Query(text="..."))) == ()
        assert run(index.ids(Field("x").is_null())) == ("a", "b")


@by_index
def test_what_is_equally_good_comes_in_the_order_in_which_it_was_added(
    opened: Opened, tmp_path: Path
) -> None:
    with opened(tmp_path) as index:
        names = ["c", "a", "d", "b"]
        run(index.add([Document(id=each, text="same") for each in names]))
        found = run(index.search(Query(text="same", top_k=3)))
        assert [each.id for each in found] == ["c", "a", "d"]


@by_vector
def test_the_first_of_many_equals_are_found(opened: Opened, tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        names = [f"n{number}" for number in range(300)]
        run(index.add([Document(id=each, text="same") for each in names]))
        found = run(index.by_vector(Query(text="same", top_k=5)))
        assert [each.id for each in found] == names[:5]


@by_vector
def test_the_closest_are_chosen_among_those_that_a_filter_lets_through(
    opened: Opened, tmp_path: Path
) -> None:
    """A list with a value twice has the row of its document twice, too."""
    with opened(tmp_path) as index:
        run(
            index.add(
                [
                    Document(id="a", text="harbour", metadata={"tags": ("x", "x")}),
                    Document(id="b", text="harbour ferry", metadata={"tags": ("x",)}),
                    Document(id="c", text="harbour", metadata={"tags": ("y", "z")}),
                    Document(id="d", text="harbour", metadata={}),
                ]
            )
        )
        for wanted, right in (
            (Field("tags") == "x", ["a", "b"]),
            (Field("tags").is_not_null(), ["a", "c", "b"]),
            (Field("tags").is_in(["y", "z"]), ["c"]),
            (Field("tags").is_null(), ["d"]),
            (Field("tags").is_null() | (Field("tags") == "x"), ["a", "d", "b"]),
            (Field("other").is_null() & (Field("tags") != "x"), ["c"]),
        ):
            query = Query(text="harbour", top_k=3, filter=wanted)
            assert [each.id for each in run(index.by_vector(query))] == right


def searched(index: DocumentIndex) -> set[str]:
    return {each.id for each in run(index.search(Query(text="same", top_k=9)))}


def test_two_indexes_of_one_file_see_what_the_other_writes(tmp_path: Path) -> None:
    with sqlite_by_vector(tmp_path) as one, sqlite_by_vector(tmp_path) as other:
        for number in range(4):
            run(one.add([Document(id=f"a{number}", text="same")]))
            run(other.add([Document(id=f"b{number}", text="same")]))
            assert searched(one) == searched(other)
            assert len(searched(one)) == 2 * number + 2
        run(one.delete(["a0", "a3", "b3"]))
        assert searched(other) == {"a1", "a2", "b0", "b1", "b2"}
        run(other.add([Document(id="a1", text="other")]))
        assert {each.text for each in run(one.search(Query(text="other")))} >= {"other"}


def test_a_failure_of_sqlite_is_one_of_retrieval(tmp_path: Path) -> None:
    (tmp_path / "documents.db").write_text("no database at all, but long enough" * 99)
    with (
        sqlite(tmp_path) as index,
        pytest.raises(
            RetrievalError, match=r"^the index cannot be used in .*documents"
        ),
    ):
        run(index.add([Document(id="a", text="one")]))


def test_a_closed_index_says_so(tmp_path: Path) -> None:
    with sqlite(tmp_path) as index:
        pass
    with pytest.raises(RetrievalError, match="is closed"):
        run(index.ids(Field("x").is_null()))


def test_several_processes_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "documents.db"
    writer = Path(__file__).with_name("index_writer.py")
    processes = [
        subprocess.Popen([sys.executable, str(writer), str(path), prefix, "15"])
        for prefix in "ab"
    ]
    with sqlite_by_vector(tmp_path) as index:
        while any(each.poll() is None for each in processes):
            assert len(searched(index)) <= 9
        assert [each.returncode for each in processes] == [0, 0]
        found = run(index.by_vector(Query(text="same", top_k=99)))
        assert len(found) == 30
