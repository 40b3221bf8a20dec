"""What a redacted stream costs, and what leaks: ours beside the other ways.

    python bench/redaction.py [--rounds N]

10,000 pieces, cut at random borders, with API keys, e-mail addresses and keys of 398
characters in them; and as many pieces of prose in which nothing matches.  "leaked" is
how many secrets the reader of the stream can see, whole or six characters in a row.
Microseconds of CPU a piece, the least of the rounds, and the share of what a chunk
costs by hand, without a guard, which is measured first as `figures.py` does.
LangChain's streaming guard is asked if `langchain` is installed beside us.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rxagent.chain import after
from rxagent.events import ChatEvent, TextDelta
from rxagent.guards import TextGuard, guard, patterns, redact
from rxagent.operators import just, transduce
from rxagent.requests import ChatRequest

sys.path[:0] = [str(Path(__file__).parent / name) for name in ("", "side_by_side")]

figures: Any = importlib.import_module("figures")
workload: Any = importlib.import_module("workload")

PIECES = 10_000
REDACTED: str = workload.REDACTED
Way = Callable[[Sequence[str]], str]


def chunk_by_hand(rounds: int) -> float:
    """Microseconds of CPU that a chunk costs in the loop by hand."""
    figures.make_environment("floor")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "floor.json"
        measured = figures.measure("stream", rounds, out, peers=[figures.FLOOR])
    took: list[float] = measured["stream"]["10000"][figures.FLOOR]["cpu"]
    return min(took) / PIECES * 1e6


def each_piece(pattern: str) -> Way:
    sub = re.compile(pattern).sub
    return lambda pieces: "".join([sub(REDACTED, piece) for piece in pieces])


def carry_over(pattern: str, width: int) -> Way:
    """Redact what is there, and let out all but its last ``width`` characters."""
    sub = re.compile(pattern).sub

    def run(pieces: Sequence[str]) -> str:
        out: list[str] = []
        held = ""
        for piece in pieces:
            held = sub(REDACTED, held + piece)
            cut = max(len(held) - width, 0)
            out.append(held[:cut])
            held = held[cut:]
        return "".join([*out, held])

    return run


def langchain(pattern: str) -> Way | None:
    """Its stream transformer, with the events of a message as it gets them."""
    try:
        middleware: Any = importlib.import_module("langchain.agents.middleware")
    except ImportError:
        return None
    pii = middleware.PIIMiddleware(
        "secret",
        detector=pattern,
        strategy="redact",
        apply_to_input=False,
        apply_to_output=True,
    )

    def run(pieces: Sequence[str]) -> str:
        transformer = pii.transformers[0](())
        out: list[str] = []

        def tell(payload: dict[str, Any]) -> None:
            data = ({"index": 0, **payload}, {"run_id": "r"})
            transformer.process({"method": "messages", "params": {"data": data}})

        for piece in pieces:
            delta = {"type": "text-delta", "text": piece}
            tell({"event": "content-block-delta", "delta": delta})
            out.append(delta["text"])
        content = {"type": "text", "text": "".join(pieces)}
        tell({"event": "content-block-finish", "content": content})
        # The reader gets the rest of the redacted whole at the end.
        delivered = "".join(out)
        return delivered + content["text"][len(delivered) :]

    return run


def lifted(*guards: TextGuard) -> Way:
    """Ours, over the events of an answer."""

    def run(pieces: Sequence[str]) -> str:
        return through(guard(*guards), pieces)

    return run


def through(advisor: Any, pieces: Sequence[str]) -> str:
    events = [TextDelta(text=piece) for piece in pieces]
    out: list[str] = []

    def note(event: Any) -> None:
        out.append(event.text)

    exchange = advisor(lambda _: just(*events))
    just(ChatRequest(messages=())).pipe(exchange).subscribe(note)
    return "".join(out)


class Same:
    def feed(self, event: ChatEvent, /) -> tuple[ChatEvent, ...]:
        return (event,)

    def flush(self) -> tuple[ChatEvent, ...]:
        return ()


def unguarded(pieces: Sequence[str]) -> str:
    """The same events through an operator that does nothing."""
    return through(after(transduce(Same)), pieces)


def costs(ways: dict[str, Way], pieces: Sequence[str], rounds: int) -> dict[str, float]:
    """Microseconds a piece of each way, in turn."""
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            gc.collect()
            start = time.process_time()
            way(pieces)
            took = (time.process_time() - start) / len(pieces) * 1e6
            best[name] = min(best[name], took)
    return best


def secrets(rounds: int, floor_us: float) -> None:
    pieces = workload.pii_chunks(PIECES)
    for name, pattern in workload.PATTERNS.items():
        print(f"\n{name}: {pattern}\n")
        print(f"{'':34}{'µs a piece':>11}{'exact':>7}{'leaked':>12}")
        ways: dict[str, Way | None] = {
            "no guard": unguarded,
            "rxagent, guard(redact(...))": lifted(redact(pattern, REDACTED)),
            "re.sub on each piece": each_piece(pattern),
            "128 characters carried over": carry_over(pattern, 128),
            "langchain, PIIMiddleware": langchain(pattern),
        }
        there = {name: way for name, way in ways.items() if way is not None}
        took = costs(there, pieces, rounds)
        wanted = workload.expected_redacted(PIECES, pattern)
        for way_name, way in there.items():
            out = way(pieces)
            whole, part, of = workload.leaks(out, PIECES, pattern)
            leaked = "" if way_name == "no guard" else f"{max(whole, part)} of {of}"
            print(
                f"{way_name:34}{took[way_name]:>11.2f}"
                f"{'yes' if out == wanted else 'no':>7}{leaked:>12}"
            )
        more = took["rxagent, guard(redact(...))"] - took["no guard"]
        share = more / floor_us
        print(f"ours adds {more:.2f} µs: {share:.1%} of a chunk of {floor_us:.1f} µs")


def prose() -> list[str]:
    dice = random.Random(11)
    said = """the quick brown fox jumps over a lazy dog at noon while nobody looks
        in particular, and each of them says (or thinks) that it was a fine day."""
    words = said.split()
    text = " ".join(dice.choice(words) for _ in range(PIECES))
    cuts = sorted(dice.sample(range(1, len(text)), PIECES - 1))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def ordinary(rounds: int, floor_us: float) -> None:
    pieces = prose()
    ready = {name: getattr(patterns, name) for name in patterns.__all__}
    print("\nprose, in which nothing matches\n")
    print(f"{'':34}{'µs a piece':>11}{'share':>10}")
    key = partial(redact, r"sk-\w{20,}")
    ways: dict[str, Way] = {
        "no guard": unguarded,
        **{name: lifted(redact(pattern)) for name, pattern in ready.items()},
        "all of them, in one guard": lifted(redact(list(ready.values()))),
        "one guard, of a key": lifted(key()),
        "ten guards, of a key": lifted(*(key() for _ in range(10))),
    }
    took = costs(ways, pieces, rounds)
    base = took["no guard"]
    for name, us in took.items():
        share = "" if name == "no guard" else f"{(us - base) / floor_us:.1%}"
        print(f"{name:34}{us:>11.2f}{share:>10}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--floor", type=float, help="µs of a chunk by hand, if known")
    asked = parser.parse_args()
    floor_us = asked.floor or chunk_by_hand(asked.rounds)
    secrets(asked.rounds, floor_us)
    ordinary(asked.rounds, floor_us)


if __name__ == "__main__":
    main()
