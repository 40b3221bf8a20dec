"""What tool search saves and costs, in counted tokens, on a catalogue of fifty tools.

A question needs two of the tools.  Without tool search a turn is two requests, with it
three.  What is counted is the JSON of each request's tools and messages, in that order,
as providers put them, by OpenAI's tokenizer ``o200k_base``.  Nothing is sent: the model
is scripted, and does what a good one would.

The cache of a provider is played: it reads the longest beginning that an earlier
request had, at a tenth of the price, if it is long enough.  A cold cache is empty when
the turn begins; a warm one has seen the same turn with another question.

Run: pip install bpe-openai; python bench/tool_search.py
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import bpe_openai
from tool_catalogue import PROMPTS, catalogue

from rxagent import Agent, ChatRequest, ToolSpec, Usage, before
from rxagent.advisors import by_spelling, tool_search
from rxagent.memory import LexicalEmbedder
from rxagent.runtime import Flow
from rxagent.search import KeywordIndex, ToolIndex, VectorIndex
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.types import Advisor
from rxagent.wire import OpenAIChatDialect

ENCODING = bpe_openai.get_encoding("o200k_base")
SYSTEM = "You are the assistant of a small company. Be brief, and never guess."
QUESTIONS = (
    "How warm is it in Oslo today, and where can I buy a coat there?",
    "Is it cold in Bergen, and which shops there sell sweaters?",
)
READ = 0.1  # of the price of a token that comes from no cache
LEAST = 1024  # tokens, of a beginning that is cached; 1 is the ideal

CALLS = Reply(
    calls=(
        tool_call("get_weather", city="Oslo", units="metric"),
        tool_call("list_clothing_shops", city="Oslo"),
    )
)
SEARCHES = Reply(
    calls=(
        tool_call("tool_search", query="weather in a city"),
        tool_call("tool_search", query="clothing shops in a city"),
    )
)
ANSWER = "It is 4 degrees in Oslo, and Nord in the main street has the best coats."


@dataclass(frozen=True, slots=True)
class Turn:
    """The prompts of a turn, in tokens."""

    prompts: tuple[Sequence[int], ...]


def turn(question: str, tools: Sequence[ToolSpec], *advisors: Advisor) -> Turn:
    """Ask ``question`` with all tools, or by the tool search among ``advisors``."""
    model = ScriptedModel(*((SEARCHES,) if advisors else ()), CALLS, ANSWER)
    agent = Agent(model, system=SYSTEM, tools=tools, advisors=advisors)
    response = agent.call(question).run()
    ran = {each.name for each in response.transcript if each.role == "tool"}
    assert {"get_weather", "list_clothing_shops"} <= ran, "half a question is lost"
    model.assert_used_up()
    return Turn(tuple(map(tokens, model.requests)))


def tokens(request: ChatRequest) -> Sequence[int]:
    """The prompt: tools first, then messages."""
    body = json.loads(OpenAIChatDialect().encode(request, model="m", stream=False))
    parts = (body.get("tools", []), body["messages"])
    text = "\n".join(json.dumps(part, ensure_ascii=False) for part in parts)
    return ENCODING.encode(text)


def usage(turn: Turn, seen: Sequence[Sequence[int]], least: int) -> Usage:
    """What a provider with a cache that has ``seen`` prompts would report."""
    cache = [*seen]
    total = Usage()
    for prompt in turn.prompts:
        read = max((common(prompt, each) for each in cache), default=0)
        read = read if read >= least else 0
        total += Usage(
            input_tokens=len(prompt) - read, cache_read_tokens=read, requests=1
        )
        cache.append(prompt)
    return total


def common(one: Sequence[int], other: Sequence[int]) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), len(min(one, other)))


def cost(usage: Usage) -> float:
    return (usage.input_tokens or 0) + READ * (usage.cache_read_tokens or 0)


def compare(tools: Sequence[ToolSpec]) -> None:
    first, second = QUESTIONS
    rows: Sequence[tuple[str, Sequence[Advisor]]] = (
        ("all tools", ()),
        ("tool search, limit 5", (tool_search(),)),
        ("tool search, limit 3", (tool_search(limit=3),)),
        ("limit 3, newest first", (tool_search(limit=3), before(newest_first))),
    )
    print(f"\n{len(tools)} tools: cost, and hits of the cache")
    print(f"{'':22}requests  prompt", end="")
    print("  cold          warm          cold, any     warm, any")
    for name, advisors in rows:
        asked, earlier = (turn(each, tools, *advisors) for each in (first, second))
        whole = usage(asked, (), LEAST)
        print(f"{name:22}{whole.requests:>8}{whole.prompt_tokens:>8}", end="")
        for least in (LEAST, 1):
            for seen in ((), earlier.prompts):
                spent = usage(asked, seen, least)
                hits = (spent.cache_read_tokens or 0) / (spent.prompt_tokens or 1)
                print(f"  {cost(spent):>6.0f} {hits:>4.0%} ", end="")
        print()


def newest_first(request: ChatRequest) -> ChatRequest:
    """What a list that does not stay as it was would cost."""
    return replace(request, tools=request.tools[::-1])


def recall(tools: Sequence[ToolSpec]) -> None:
    def by(index: ToolIndex) -> Callable[[str], Sequence[str]]:
        search = Flow.of(index.index(tools)).run()
        return lambda query: Flow.of(search(query, 5)).run()

    def spelling(query: str) -> Sequence[str]:
        return [tool.name for tool in by_spelling(query, tools)[:5]]

    ways: Sequence[tuple[str, Callable[[str], Sequence[str]]]] = (
        ("KeywordIndex", by(KeywordIndex())),
        ("VectorIndex(LexicalEmbedder)", by(VectorIndex(LexicalEmbedder()))),
        ("by_spelling, for comparison", spelling),
    )
    print(f"\nthe right tool of {len(PROMPTS)} searches        first  of 3  of 5")
    for name, find in ways:
        found = [(find(query), right) for query, right in PROMPTS]
        hits = [sum(right in names[:n] for names, right in found) for n in (1, 3, 5)]
        print(f"{name:32}{hits[0]:>8}{hits[1]:>6}{hits[2]:>6}")
        missed = [query for query, right in PROMPTS if right not in find(query)]
        print("  missed: " + "; ".join(missed))


def main() -> None:
    """Print both tables."""
    tools = catalogue()
    for count in (50, 12, 6):
        compare(tools[:count])
    recall(tools)


if __name__ == "__main__":
    main()
