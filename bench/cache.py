"""What an answer from a cache costs.

    python bench/cache.py

Turns of an agent over a scripted model, which costs nothing itself: asked with no
cache, and answered from one.  For a semantic cache a question in other words, among as
many as are kept.  Milliseconds of wall time for one turn, the best of several runs;
stores in files wait for their threads.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from rxagent import Advisor, Agent, AssistantMessage, Message, UserMessage
from rxagent.advisors import exact_cache, semantic_cache
from rxagent.caching import KeptAnswer, MemoryAnswers, SqliteAnswers
from rxagent.memory import LexicalEmbedder
from rxagent.models import LocalEmbeddings
from rxagent.retrieval import MemoryDocuments, SqliteDocuments
from rxagent.runtime import Flow
from rxagent.testing import Reply, ScriptedModel

RUNS, TURNS = 5, 50
KEPT = 1_000
QUESTION, AGAIN = "How do I reset my password?", "How can I reset my password?"
ANSWER = Reply(deltas=("word ",) * 200)


def agent_with(*advisors: Advisor) -> Agent:
    return Agent(ScriptedModel(ANSWER, repeat_last=True), advisors=advisors)


async def best_ms(turn: Callable[[], Awaitable[object]]) -> float:
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        for _ in range(TURNS):
            await turn()
        best = min(best, (time.perf_counter() - start) / TURNS)
    return best * 1_000


async def show(name: str, agent: Agent, prompt: str | Sequence[Message]) -> None:
    async def turn() -> object:
        return await agent.call(prompt)

    print(f"| {name} | {await best_ms(turn):.2f} |")


async def semantic(name: str, advisor: Advisor) -> None:
    agent = agent_with(advisor)
    for number in range(KEPT - 1):
        await agent.call(f"What does item {number} cost, and when does it arrive?")
    await agent.call(QUESTION)
    assert (await agent.call(AGAIN)).cached
    await show(name, agent, AGAIN)


async def main(folder: Path) -> None:
    print("| | ms |\n| --- | --- |")
    await show("no cache, a model that costs nothing", agent_with(), QUESTION)
    await show(
        "exact, `MemoryAnswers`",
        agent_with(exact_cache(MemoryAnswers(), namespace="bench")),
        QUESTION,
    )
    history = [
        message
        for number in range(500)
        for message in (UserMessage.of(f"{number}?"), AssistantMessage.of("So. " * 99))
    ]
    await show(
        "exact, `MemoryAnswers`, behind 1,000 messages",
        agent_with(exact_cache(MemoryAnswers(), namespace="bench")),
        [*history, UserMessage.of(QUESTION)],
    )
    with SqliteAnswers(folder / "a.db", max_entries=10_000) as store:
        answer = KeptAnswer(message=AssistantMessage.of("word " * 200))
        for number in range(10_000):
            await Flow[object].of(store.put(f"{number}", answer, ttl_s=None))
        await show(
            "exact, `SqliteAnswers`, 10,000 kept",
            agent_with(exact_cache(store, namespace="bench")),
            QUESTION,
        )
        numbers = iter(range(10_000, 20_000))

        async def put() -> object:
            key = f"{next(numbers)}"
            return await Flow[object].of(store.put(key, answer, ttl_s=None))

        print(f"| keep one more there | {await best_ms(put):.2f} |")
    await semantic(
        "semantic, `MemoryDocuments` of 1,000, `LexicalEmbedder`",
        semantic_cache(
            MemoryAnswers(),
            MemoryDocuments(LexicalEmbedder()),
            namespace="bench",
            threshold=0.7,
        ),
    )
    with SqliteDocuments(folder / "q.db", embedder=LocalEmbeddings()) as index:
        await semantic(
            "semantic, `SqliteDocuments` of 1,000, `LocalEmbeddings`",
            semantic_cache(MemoryAnswers(), index, namespace="bench"),
        )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
