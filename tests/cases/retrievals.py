"""Cases about how texts are cut, and what is found of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from reactivex import Observable

from rxagent.errors import RxAgentError
from rxagent.operators import just
from rxagent.retrieval import (
    AllOf,
    Document,
    Field,
    Filter,
    MemoryDocuments,
    Query,
    Retriever,
    Splitter,
    parse_filter,
    split_headings,
    split_sentences,
    split_tokens,
    within,
)
from rxagent.runtime import run
from tests.cases.case import Case, Cutting, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.matchers import check
from tests.cases.words import check_error

__all__ = ["check_retrieve", "check_split"]

_SPLITTERS: tuple[Callable[..., Splitter], ...] = (
    split_sentences,
    split_tokens,
    split_headings,
)


_RETRIEVE = {
    "kind",
    "documents",
    "ingest_times",
    "delete",
    "query",
    "top_k",
    "filter",
    "bound",
    "mandatory_filter",
    "min_score",
}


def check_split(case: Case, cutting: Cutting) -> None:
    """A text, cut with several sizes by every splitter."""
    del cutting
    _known(case.given, {"kind", "text", "variants", "size", "overlap"})
    text = case.given["text"]
    if not isinstance(text, str):
        text = (text["text"] if "text" in text else text["of"]) * text["repeat"]
    started = monotonic()
    for variant in case.given.get("variants", [case.given]):
        sizes = {name: variant[name] for name in ("size", "overlap") if name in variant}
        for splitter in _SPLITTERS:
            _check_one(splitter, sizes, text, dict(case.expect))
    assert monotonic() - started < case.expect.get("max_seconds", 60)


def _check_one(
    splitter: Callable[..., Splitter], sizes: Json, text: str, expect: Json
) -> None:
    expect.pop("max_seconds", None)
    expect |= expect.pop("each", {})
    error, chunks = None, list[Document]()
    try:
        split = splitter(**sizes)
    except RxAgentError as caught:
        error = caught
        # Whatever fails, fails when the splitter is made.
        assert (expect.get("error") or {}).pop("at", "construction") == "construction"
    else:
        chunks = [*split(Document(id="case", text=text))]
        assert _joined(chunks) == text
    check_error(expect.pop("error", None), error)
    texts = [each.text for each in chunks]
    for never in expect.pop("never_contains", []):
        assert not any(never in each for each in texts)
    if splitter is split_sentences:  # its sizes are characters
        check(expect.pop("chunks", texts), texts, "$.chunks")
        check(expect.pop("chunks_total", len(texts)), len(texts), "$.chunks_total")
        check(
            expect.pop("max_chunk_chars", 0) or {"$gte": 0},
            max(map(len, texts), default=0),
            "$",
        )
    _known(expect, {"chunks", "chunks_total", "max_chunk_chars"})


def _joined(chunks: Sequence[Document]) -> str:
    """The chunks without what each shares with the one before."""
    text = ""
    for each in chunks:
        start = each.metadata["start"]
        assert isinstance(start, int)
        assert start <= len(text)
        text += each.text[len(text) - start :]
    return text


def check_retrieve(case: Case, cutting: Cutting) -> None:
    """Documents, some with vectors, and what is found of them."""
    del cutting
    _known(case.given, _RETRIEVE)
    given = [_document(n, each) for n, each in enumerate(case.given["documents"])]
    vectors = {each.text: vector for each, vector in given if vector is not None}
    query = case.given["query"] or ""
    if not isinstance(query, str):
        vectors[query["text"]] = query["vector"]
        query = query["text"]

    def embed(texts: Sequence[str]) -> Observable[tuple[tuple[float, ...], ...]]:
        return just(tuple(tuple(vectors[text]) for text in texts))

    # Where a case names no least score, all that is asked for is found.
    least = case.given.get("min_score", -1.0)
    index = MemoryDocuments(embed if vectors else None, min_similarity=least)
    error, found = None, tuple[Document, ...]()
    expect = dict(case.expect)
    try:
        wanted = _filter(case.given.get("filter"), case.given.get("bound", {}))
        for _ in range(case.given.get("ingest_times", 1)):
            run(index.add([document for document, _ in given]))
        run(index.delete(map(str, case.given.get("delete", []))))
        retrieve: Retriever = index.by_vector if vectors else index.by_words
        tenant = _filter(case.given.get("mandatory_filter"), {})
        if tenant is not None:
            retrieve = within(retrieve, tenant)
        asked = Query(
            text=query,
            top_k=case.given.get("top_k", 4),
            filter=wanted,
        )
        found = run(retrieve(asked))
    except RxAgentError as caught:
        error = caught
    check_error(expect.pop("error", None), error)
    seen = {
        "ids": [each.id for each in found],
        "texts": [each.text for each in found],
        "scores": [each.score for each in found],
        "total": len(found),
    }
    for name, value in seen.items():
        check(expect.pop(name, value), value, f"$.{name}")
    _known(expect, set())


def _filter(wanted: Json | str | None, bound: Json) -> Filter | None:
    """A filter by its text, or by the values that fields must have."""
    if not wanted:
        return None
    if isinstance(wanted, str):
        return parse_filter(wanted, **bound)
    return AllOf.joined(Field(name) == value for name, value in wanted.items())


def _document(number: int, given: Json | str) -> tuple[Document, list[float] | None]:
    if isinstance(given, str):
        return Document(id=str(number), text=given), None
    _known(given, {"id", "text", "metadata", "vector"})
    document = Document(
        id=str(given.get("id", number)),
        text=given["text"],
        metadata=given.get("metadata") or {},  # null is a member that is missing
    )
    return document, given.get("vector")


def _known(members: Json, names: set[str]) -> None:
    if members.keys() - names:
        raise NotSupportedError(f"this reader does not know {members.keys() - names}")
