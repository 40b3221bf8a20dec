from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import (
    ConfigurationError,
    DocumentError,
    RequestError,
    RetrievalError,
)
from rxagent.memory import LexicalEmbedder
from rxagent.retrieval import (
    Document,
    Field,
    Filter,
    Ingested,
    MemoryDocuments,
    Query,
    SqliteDocuments,
    ingest,
    read_folder,
    read_text,
    split_sentences,
)
from rxagent.runtime import block, run

EVERYTHING = Field("collection").is_not_null()
BOOKS = [
    Document(id="a", text="One red rose. Two blue birds. "),
    Document(id="b", text="Three green trees. "),
    Document(id="c", text=""),
]
SPLIT = split_sentences(20)


class Counting:
    """An embedder that counts the texts that it is asked for."""

    def __init__(self) -> None:
        self.texts = 0

    def __call__(
        self, texts: Sequence[str]
    ) -> Observable[tuple[tuple[float, ...], ...]]:
        self.texts += len(texts)
        return LexicalEmbedder()(texts)


def texts(index: MemoryDocuments) -> set[str]:
    return {kept.document.text for kept in index._kept.values()}


def test_documents_are_split_and_found_and_it_says_how_far_it_is() -> None:
    index = MemoryDocuments()
    seen = list(block(ingest(BOOKS, index, split=SPLIT, batch_size=2)))
    assert seen == [
        Ingested(documents=0, added=2),
        Ingested(documents=3, added=3),
        Ingested(documents=3, added=3),
    ]
    [found] = run(index.search(Query(text="bird birds")))
    assert found.text == "Two blue birds. "
    start = len("One red rose. ")
    assert found.metadata == {
        "source": "a",
        "collection": "documents",
        "start": start,
        "end": start + len(found.text),
    }


def test_it_may_be_repeated_and_embeds_only_what_is_new() -> None:
    embed = Counting()
    index = MemoryDocuments(embed)
    source = ingest(BOOKS, index, split=SPLIT)
    run(source)
    before = texts(index)
    assert list(block(source))[-1] == Ingested(documents=3, kept=3)
    assert texts(index) == before
    assert embed.texts == 3


def test_what_has_changed_is_replaced_and_what_has_vanished_is_deleted() -> None:
    embed = Counting()
    index = MemoryDocuments(embed)
    run(index.add([Document(id="other", text="not ours")]))
    run(ingest([Document(id="x", text="of another one")], index, collection="other"))
    run(ingest(BOOKS, index, split=SPLIT))
    asked = embed.texts

    changed = [replace(BOOKS[0], text="One red rose. Two black birds. ")]
    done = list(block(ingest(changed, index, split=SPLIT)))[-1]
    assert done == Ingested(documents=1, added=1, kept=1, deleted=2)
    assert embed.texts == asked + 1
    assert texts(index) == {
        "One red rose. ",
        "Two black birds. ",
        "not ours",
        "of another one",
    }


def test_a_document_whose_metadata_has_changed_is_replaced() -> None:
    index = MemoryDocuments()
    run(ingest(BOOKS, index))
    run(ingest([replace(BOOKS[1], metadata={"lang": "en"})], index))
    assert len(run(index.ids(EVERYTHING))) == 1
    assert len(run(index.ids(Field("lang") == "en"))) == 1


def breaking(documents: Iterable[Document], after: int) -> Iterator[Document]:
    for number, document in enumerate(documents):
        if number == after:
            raise DocumentError(document.id, "cannot be read")
        yield document


def test_a_document_that_cannot_be_read_is_the_error_and_nothing_is_deleted() -> None:
    index = MemoryDocuments()
    run(ingest([Document(id="z", text="old")], index))
    with pytest.raises(DocumentError, match="'b' cannot be read"):
        run(ingest(breaking(BOOKS, 1), index, split=SPLIT, batch_size=1))
    assert "old" in texts(index)


def test_what_was_interrupted_goes_on_where_it_was() -> None:
    embed = Counting()
    index = MemoryDocuments(embed)
    with pytest.raises(DocumentError):
        run(ingest(breaking(BOOKS, 1), index, split=SPLIT, batch_size=1))
    assert embed.texts == 2
    done = list(block(ingest(BOOKS, index, split=SPLIT)))[-1]
    assert done == Ingested(documents=3, added=1, kept=2)
    assert embed.texts == 3


def test_leaving_it_reads_no_more_than_a_batch() -> None:
    read: list[str] = []

    def documents() -> Iterator[Document]:
        for number in range(1_000):
            read.append(str(number))
            yield Document(id=str(number), text="text")

    index = MemoryDocuments()
    first = ingest(documents(), index, batch_size=4).pipe(ops.take(1))
    assert run(first).added == 4
    assert len(run(index.ids(EVERYTHING))) == 4
    assert len(read) <= 8


def test_an_index_that_fails_is_the_error(tmp_path: Path) -> None:
    with (
        SqliteDocuments(tmp_path / "no" / "such.db") as index,
        pytest.raises(RetrievalError, match="make its folder"),
    ):
        run(ingest(BOOKS, index))
    with pytest.raises(ConfigurationError, match="batch_size"):
        ingest(BOOKS, MemoryDocuments(), batch_size=0)


class Peculiar:
    """An index of somebody's own, one of whose methods does as it likes.

    It keeps what it is given, whatever it tells of that.
    """

    def __init__(self, method: str, does: Callable[[], Observable[Any]]) -> None:
        self.kept = MemoryDocuments()
        self._method = method
        self._does = does

    def add(self, documents: Sequence[Document]) -> Observable[int]:
        return self._told("add", self.kept.add(documents))

    def delete(self, which: Iterable[str] | Filter) -> Observable[int]:
        return self._told("delete", self.kept.delete(which))

    def ids(self, which: Filter) -> Observable[tuple[str, ...]]:
        return self._told("ids", self.kept.ids(which))

    def search(self, query: Query) -> Observable[tuple[Document, ...]]:
        return self.kept.search(query)

    def _told(self, method: str, source: Observable[Any]) -> Observable[Any]:
        if method != self._method:
            return source
        told: Any = self._does()
        return source.pipe(ops.flat_map(lambda _: told)) if told else told


def broken() -> Observable[Any]:
    raise LookupError("the disk is full")


@pytest.mark.parametrize("method", ["add", "delete", "ids"])
@pytest.mark.parametrize(
    ("does", "error", "says"),
    [
        (reactivex.empty, RetrievalError, "of the index emitted 0 items"),
        (lambda: reactivex.of(1, 2), RetrievalError, "of the index emitted 2 items"),
        (lambda: None, RetrievalError, "of the index returned a NoneType"),
        (broken, LookupError, "the disk is full"),
        (lambda: reactivex.throw(OSError("gone")), OSError, "gone"),
    ],
    ids=["nothing", "twice", "none", "raises", "fails"],
)
def test_an_index_that_breaks_its_promise_is_the_error_and_loses_nothing(
    method: str,
    does: Callable[[], Observable[Any]],
    error: type[Exception],
    says: str,
) -> None:
    index = Peculiar(method, does)
    run(ingest([Document(id="z", text="old")], index.kept))
    ends: list[Exception] = []
    watched = ingest(BOOKS, index).pipe(ops.do_action(on_error=ends.append))
    with pytest.raises(error, match=says):
        list(block(watched))
    assert len(ends) == 1  # nothing was raised past the stream
    if method != "delete":
        assert "old" in texts(index.kept)
    done = list(block(ingest(BOOKS, index.kept)))[-1]
    assert len(texts(index.kept)) == done.documents == 3


def test_ids_that_come_one_by_one_are_not_letters() -> None:
    index = Peculiar("ids", lambda: reactivex.of("a#1"))
    with pytest.raises(RetrievalError, match=r"emitted a str, .* all ids as one tuple"):
        run(ingest(BOOKS, index))


def test_it_is_cold_and_a_folder_can_be_read_again(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.md").write_text("# B\n", encoding="utf-8")
    (tmp_path / "deep" / "A.TXT").write_bytes(b"\xef\xbb\xbfAlpha")
    (tmp_path / "c.bin").write_bytes(b"\0")
    index = MemoryDocuments()
    source = ingest(read_folder(tmp_path), index)
    assert texts(index) == set()
    assert run(source).documents == 2
    assert texts(index) == {"# B\n", "Alpha"}
    (tmp_path / "b.md").unlink()
    assert run(source).deleted == 1
    assert [each.id for each in read_folder(tmp_path)] == ["deep/A.TXT"]


def test_what_is_no_text_and_what_is_no_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(DocumentError, match=r"a\.txt' cannot be read: 'utf-8"):
        list(read_folder(tmp_path))
    with pytest.raises(DocumentError, match="is no folder"):
        list(read_folder(tmp_path / "no"))


def test_a_folder_that_cannot_be_listed_is_named_and_nothing_is_deleted(
    tmp_path: Path,
) -> None:
    """Its documents would be taken for gone.  Paths over 4096 bytes are refused even
    to root.
    """
    index = MemoryDocuments()
    run(ingest([Document(id="z", text="old")], index))
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(21):
        os.mkdir("x" * 200, dir_fd=here)
        there = os.open("x" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = there
    os.close(here)
    with pytest.raises(DocumentError, match=r"xxx' cannot be listed: File name too"):
        run(ingest(read_folder(tmp_path), index))
    assert texts(index) == {"old"}


def test_a_file_that_vanishes_while_others_are_read_is_the_error(
    tmp_path: Path,
) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(name, encoding="utf-8")

    def read(path: Path) -> Iterable[Document]:
        (tmp_path / "b.md").unlink(missing_ok=True)
        return read_text(path)

    index = MemoryDocuments()
    run(ingest(read_folder(tmp_path), index))
    with pytest.raises(DocumentError, match=r"b\.md' cannot be read"):
        run(ingest(read_folder(tmp_path, {".md": read}), index))
    assert texts(index) == {"a.md", "b.md"}


def test_a_link_to_nowhere_is_the_error_and_one_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("gone.md")
    with pytest.raises(DocumentError, match=r"a\.md' cannot be read: .*No such file"):
        list(read_folder(tmp_path))
    (tmp_path / "a.md").unlink()
    (tmp_path / "a.md").symlink_to("a.md")
    with pytest.raises(DocumentError, match=r"a\.md' cannot be read: .*symbolic links"):
        list(read_folder(tmp_path))


def test_a_folder_that_became_a_link_is_still_read_and_loses_nothing(
    tmp_path: Path,
) -> None:
    notes, moved = tmp_path / "notes", tmp_path / "moved"
    (notes / "sub" / "deep").mkdir(parents=True)
    (notes / "sub" / "a.md").write_text("A", encoding="utf-8")
    (notes / "sub" / "deep" / "b.md").write_text("B", encoding="utf-8")
    index = MemoryDocuments()
    run(ingest(read_folder(notes), index))
    (notes / "sub").rename(moved)
    (notes / "sub").symlink_to(moved)
    done = run(ingest(read_folder(notes), index))
    assert (done.kept, done.deleted) == (2, 0)
    (moved / "deep").rename(tmp_path / "deep")
    (moved / "deep").symlink_to(tmp_path / "deep")  # a link behind a link
    done = run(ingest(read_folder(notes), index))
    assert (done.kept, done.deleted) == (2, 0)


def test_a_folder_is_read_once_where_it_really_is_and_links_may_go_in_a_circle(
    tmp_path: Path,
) -> None:
    notes = tmp_path / "notes"
    (notes / "z").mkdir(parents=True)
    (notes / "z" / "a.md").write_text("A", encoding="utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.md").write_text("B", encoding="utf-8")
    for name, there in (("again", "z"), ("here", "."), ("y", "../other")):
        (notes / name).symlink_to(there)
    (notes / "x").symlink_to("../other")
    (notes / "z" / "up").symlink_to("../..")
    assert [each.id for each in read_folder(notes)] == ["x/b.md", "z/a.md"]


def test_a_link_that_leads_nowhere_may_be_a_folder_and_nothing_is_deleted(
    tmp_path: Path,
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.md").write_text("A", encoding="utf-8")
    index = MemoryDocuments()
    run(ingest(read_folder(tmp_path), index))
    (tmp_path / "sub" / "a.md").unlink()
    (tmp_path / "sub").rmdir()
    (tmp_path / "sub").symlink_to("gone")
    with pytest.raises(DocumentError, match=r"sub' is a link that leads nowhere"):
        run(ingest(read_folder(tmp_path), index))
    assert texts(index) == {"A"}


def test_a_generator_that_was_read_already_deletes_nothing() -> None:
    """A retry would find it empty, as if all documents had vanished."""
    index = MemoryDocuments()
    run(ingest([Document(id="z", text="old")], index))
    source = ingest(breaking(BOOKS, 1), index, batch_size=1)
    with pytest.raises(RequestError, match="read only once"):
        run(source.pipe(ops.retry(2)))
    assert "old" in texts(index)
    again = ingest(iter(BOOKS), index)
    run(again)
    with pytest.raises(RequestError, match="pass a list"):
        run(again)
    assert len(run(index.ids(EVERYTHING))) == 3


@pytest.mark.parametrize("name", ["md", ".tar.gz", "*.md"])
def test_a_reader_of_no_suffix_is_refused(name: str, tmp_path: Path) -> None:
    """It would read nothing, and a whole collection would be deleted."""
    with pytest.raises(ConfigurationError, match=r"such as '\.md'"):
        read_folder(tmp_path, {name: read_text})


def test_files_without_a_suffix_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("a", encoding="utf-8")
    assert [each.text for each in read_folder(tmp_path, {"": read_text})] == ["a"]


def test_a_splitter_need_not_keep_what_is_known_of_the_whole() -> None:
    def lines(document: Document) -> tuple[Document, ...]:
        return tuple(Document(id=each, text=each) for each in document.text.split("/"))

    index = MemoryDocuments()
    run(ingest([Document(id="x", text="a/b")], index, split=lines))
    done = run(ingest([Document(id="x", text="b/c")], index, split=lines))
    assert done == Ingested(documents=1, added=1, kept=1, deleted=1)
    assert texts(index) == {"b", "c"}
