"""What one gets wrong on the first day says what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rxagent.agent import Agent
from rxagent.errors import ConfigurationError, RetrievalError
from rxagent.operators import just
from rxagent.retrieval import Document, Query
from rxagent.runtime import run
from rxagent.testing import ScriptedModel

# Typed as anything: a type checker sees most of these, and not everybody has one.
advisors: Any = import_module("rxagent.advisors")
caching: Any = import_module("rxagent.caching")
memory: Any = import_module("rxagent.memory")
retrieval: Any = import_module("rxagent.retrieval")
search: Any = import_module("rxagent.search")
stages: Any = import_module("rxagent.stages")

BOOK: Any = Document(id="a", text="one")
INDEX: Any = retrieval.MemoryDocuments()
FILE: Any = retrieval.SqliteDocuments(":memory:")
MODEL: Any = ScriptedModel()
RETRIEVE: Any = stages.retrieve(INDEX.search)
QUERY = Query(text="one")
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "add-one": (lambda: INDEX.add(BOOK), "add takes a list of documents"),
    "add-text": (lambda: FILE.add("text"), "add takes a list of documents"),
    "add-texts": (lambda: FILE.add(["text"]), r"a Document\(id=\.\.\., text=\.\.\.\)"),
    "search-text": (
        lambda: INDEX.search("one"),
        r"takes Query\(text=\.\.\.\), not a s",
    ),
    "search-file": (lambda: FILE.search("one"), r"takes Query\(text=\.\.\.\), not a s"),
    "delete-one": (lambda: INDEX.delete(BOOK), "a list of ids, or a filter"),
    "delete-field": (lambda: FILE.delete(retrieval.Field("a")), "such as Field"),
    "delete-books": (lambda: FILE.delete([BOOK]), "a list of ids, or a filter"),
    "ids-of-text": (lambda: INDEX.ids("a"), r"or parse_filter\(\.\.\.\), not a str"),
    "ids-of-list": (lambda: FILE.ids(["a"]), r"or parse_filter\(\.\.\.\), not a list"),
    "embedder": (
        lambda: retrieval.MemoryDocuments(MODEL.requests),
        "embedder takes a function",
    ),
    "embedder-class": (
        lambda: retrieval.SqliteDocuments("x", embedder=memory.LexicalEmbedder),
        r"write LexicalEmbedder\(\.\.\.\)",
    ),
    "similarity": (
        lambda: retrieval.MemoryDocuments(min_similarity=20),
        "from -1 to 1",
    ),
    "path": (lambda: retrieval.SqliteDocuments(INDEX), "path takes the path of a file"),
    "path-of-answers": (
        lambda: caching.SqliteAnswers(b"x"),
        "path takes the path of a f",
    ),
    "path-of-turns": (
        lambda: memory.SqliteStore(None),
        "path takes the path of a file",
    ),
    "timeout": (
        lambda: memory.SqliteStore("x", busy_timeout_s=-1),
        "0 seconds or more",
    ),
    "within-index": (
        lambda: retrieval.within(INDEX, retrieval.Field("a") == 1),
        "write index.search",
    ),
    "hybrid-index": (lambda: retrieval.hybrid(INDEX), r"write index\.search"),
    "hybrid-list": (
        lambda: retrieval.hybrid([INDEX.search]),
        r"hybrid\(\*retrievers\)",
    ),
    "hybrid-text": (lambda: retrieval.hybrid(INDEX.search)("x"), r"takes Query\(text"),
    "fused": (
        lambda: retrieval.fused([BOOK]),
        "fused takes a list, with a list of documents",
    ),
    "by-score": (lambda: stages.by_score([BOOK]), "by_score takes a list, with a list"),
    "field": (lambda: retrieval.Field(3) == 1, "named by a int"),
    "is-in": (lambda: retrieval.Field("a").is_in(3), r"write is_in\(\[value\]\)"),
    "joined": (
        lambda: retrieval.AllOf.joined(retrieval.Field("a") == 1),
        "no part of a filter",
    ),
    "filter-text": (lambda: retrieval.parse_filter(None), "parse_filter takes a text"),
    "ingest-text": (
        lambda: retrieval.ingest("text", INDEX),
        "ingest takes a list of d",
    ),
    "ingest-one": (
        lambda: retrieval.ingest(BOOK, INDEX),
        "ingest takes a list of documents",
    ),
    "ingest-stream": (lambda: retrieval.ingest(just(BOOK), INDEX), "not a Just"),
    "ingest-reader": (
        lambda: retrieval.ingest(retrieval.read_folder, INDEX),
        "not a function",
    ),
    "ingest-texts": (lambda: run(retrieval.ingest(["a"], INDEX)), "not a str"),
    "ingest-into": (
        lambda: retrieval.ingest([BOOK], "a.db"),
        r"such as MemoryDocuments\(\)",
    ),
    "ingest-class": (
        lambda: retrieval.ingest([BOOK], retrieval.MemoryDocuments),
        "not the class",
    ),
    "ingest-split": (
        lambda: retrieval.ingest([BOOK], INDEX, split="x"),
        "split takes a f",
    ),
    "ingest-named": (
        lambda: retrieval.ingest([BOOK], INDEX, collection=1),
        "takes a text",
    ),
    "no-parts": (
        lambda: run(retrieval.ingest([BOOK], INDEX, split=lambda _: None)),
        "a splitter returns a list of documents.*not a NoneType",
    ),
    "parts": (
        lambda: run(retrieval.ingest([BOOK], INDEX, split=lambda d: [d.text])),
        "not a str",
    ),
    "folder": (lambda: retrieval.read_folder(None), "folder takes a path"),
    "one-reader": (
        lambda: retrieval.read_folder(".", retrieval.read_text),
        r"such as \{'\.md': read_t",
    ),
    "suffixes": (
        lambda: retrieval.read_folder(".", [".md"]),
        r"such as \{'\.md': read_text",
    ),
    "reader": (
        lambda: retrieval.read_folder(".", {".md": "x"}),
        "a reader takes a function",
    ),
    "split-text": (
        lambda: retrieval.split_sentences()("text"),
        "a document is a Document",
    ),
    "split-list": (lambda: retrieval.split_headings()([BOOK]), "not a list"),
    "tokens": (lambda: retrieval.split_tokens(tokens="x"), "tokens takes a function"),
    "numbers": (
        lambda: retrieval.split_tokens(tokens=lambda _: [1, 2])(BOOK),
        "a int; numbers of tokens have to be decoded",
    ),
    "count": (lambda: retrieval.split_tokens(tokens=len)(BOOK), "into pieces of it"),
    "retrieve-index": (lambda: stages.retrieve(INDEX), r"write index\.search"),
    "retrieve-class": (
        lambda: stages.retrieve(retrieval.MemoryDocuments),
        r"write index\.search",
    ),
    "retrieve-stage": (lambda: stages.retrieve(RETRIEVE), "retrieve is a stage"),
    "model-class": (
        lambda: stages.rewrite(ScriptedModel),
        r"write ScriptedModel\(\.\.\.\)",
    ),
    "rewrite": (lambda: stages.rewrite(MODEL, instructions=None), "takes a text"),
    "compress": (lambda: stages.compress(MODEL, instructions=3), "takes a text"),
    "expand": (lambda: stages.expand(MODEL, instructions=None), "takes a text"),
    "judge": (lambda: stages.judge(MODEL, instructions=None), "takes a text"),
    "translate": (lambda: stages.translate(MODEL, language=None), "takes a text"),
    "diversify": (
        lambda: stages.diversify(memory.LexicalEmbedder(), top_n=1, balance="x"),
        "from 0 to 1",
    ),
    "ways": (lambda: stages.route(str, [RETRIEVE]), "a name, and a list of stages"),
    "way": (lambda: stages.route(str, {"a": RETRIEVE}), r"write \[retrieve\(\)\]"),
    "way-index": (
        lambda: stages.route(str, {"a": [INDEX]}),
        r"retrieve\(index\.search\)",
    ),
    "retriever-of": (lambda: stages.as_retriever(INDEX), r"retrieve\(index\.search\)"),
    "retriever-list": (
        lambda: stages.as_retriever([RETRIEVE]),
        r"as_retriever\(\*stages\)",
    ),
    "retriever-text": (
        lambda: stages.as_retriever(RETRIEVE)("x"),
        r"takes Query\(text",
    ),
    "retriever-search": (
        lambda: run(stages.as_retriever(INDEX.search)(QUERY)),
        r"a search is no stage.*retrieve\(index\.search\)",
    ),
    "retrieval": (lambda: stages.Retrieval.of("one"), r"takes Query\(text"),
    "stage": (
        lambda: stages.Stage(name="x", operator="y"),
        "operator takes a function",
    ),
    "answer-index": (lambda: advisors.question_answer(INDEX), r"write index\.search"),
    "answer-stage": (
        lambda: advisors.question_answer(RETRIEVE),
        r"such as rag\(\[\.\.\.\]\)",
    ),
    "answer-filter": (
        lambda: advisors.question_answer(INDEX.search, filter="a == 1"),
        r"parse_filter\(\.\.\.\), not a str",
    ),
    "cite": (lambda: advisors.question_answer(INDEX.search, cite="x"), "True or False"),
    "empty": (
        lambda: advisors.question_answer(INDEX.search, inject_when_empty="x"),
        "inject_when_empty must be True or False",
    ),
    "rag-stage": (lambda: advisors.rag(RETRIEVE), r"write \[retrieve\(\)\]"),
    "rag-index": (lambda: advisors.rag([INDEX]), r"retrieve\(index\.search\)"),
    "rag-advisor": (
        lambda: advisors.rag([advisors.question_answer(INDEX.search)]),
        "is an advisor",
    ),
    "rag-search": (
        lambda: Agent(MODEL, advisors=[advisors.rag([INDEX.search])]).call("one").run(),
        r"retrieve\(index\.search\)",
    ),
    "tools-text": (lambda: advisors.tool_search(index="keyword"), r"KeywordIndex\(\)"),
    "tools-class": (
        lambda: advisors.tool_search(index=search.KeywordIndex),
        "not the class",
    ),
    "tools-docs": (lambda: advisors.tool_search(index=INDEX), "an index of tools"),
    "accumulate": (lambda: advisors.tool_search(accumulate="no"), "True or False"),
    "embed": (lambda: search.VectorIndex("x"), "embed takes a function"),
    "embed-class": (
        lambda: search.VectorIndex(memory.LexicalEmbedder),
        "not the class",
    ),
    "cache-tools": (
        lambda: advisors.exact_cache(
            caching.MemoryAnswers(), namespace="n", tools="no"
        ),
        "tools must be True or False",
    ),
    "threshold": (
        lambda: advisors.semantic_cache(
            caching.MemoryAnswers(), INDEX, namespace="n", threshold=True
        ),
        "threshold must be more than 0",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_says_what_to_write_instead(name: str) -> None:
    act, says = WRONG[name]
    with pytest.raises(ConfigurationError, match=says):
        act()


@pytest.mark.parametrize("made", [None, "text", ["text"]])
def test_what_a_reader_returns_is_looked_at(made: Any, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a", encoding="utf-8")
    source = retrieval.read_folder(tmp_path, {".md": lambda _: made})
    with pytest.raises(ConfigurationError, match=r"document.*not a (NoneType|str)"):
        list(source)


def plain(_: Query) -> Sequence[Document]:
    return [BOOK]


@pytest.mark.parametrize(
    "retriever",
    [retrieval.hybrid(plain), stages.as_retriever(stages.retrieve(plain))],
)
def test_a_retriever_that_returns_a_list_is_told_so(retriever: Any) -> None:
    with pytest.raises(RetrievalError, match="returned a list, not an Observable"):
        run(retriever(QUERY))


@pytest.mark.parametrize("made", [None, "text", [BOOK, "text"], {"a": BOOK}])
@pytest.mark.parametrize("of", [retrieval.hybrid, stages.retrieve])
def test_a_retriever_that_emits_no_documents_is_told_so(of: Any, made: Any) -> None:
    retriever = of(lambda _: just(made))
    if of is stages.retrieve:
        retriever = stages.as_retriever(retriever)
    with pytest.raises(RetrievalError, match=r"emitted a .* one tuple of documents"):
        run(retriever(QUERY))
