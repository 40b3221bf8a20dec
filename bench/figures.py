"""Our figures beside a hand-written httpx loop, as ratios, in one run.

    python bench/figures.py            # about ten minutes; peers join where they exist
    python bench/figures.py --quick    # about two

The floor is httpx with `aiter_lines`, `json.loads` and a loop by hand, on the same
server, interleaved with ours.  CPU time, so 0.85 means 15 % less than by hand.  To have
a peer beside us, make its environment first: `side_by_side/make_envs.py openai`.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SIDE = HERE / "side_by_side"
ENVS = SIDE / ".envs"
FLOOR, OURS, FAST = "httpx_lines", "rxagent", "rxagent_fast"
PEERS = ("openai_sdk", "pydantic_ai_agent", "langchain_agent", "litellm_sdk")


def make_environment(name: str, *more: str) -> None:
    python = ENVS / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", ENVS / name], check=True)
    requirements = SIDE / "requirements" / f"{name}.txt"
    command = [python, "-m", "pip", "install", "-q", "-r", requirements, *more]
    subprocess.run(command, check=True)


EVERYONE = (FLOOR, OURS, FAST, *PEERS)


def measure(
    suites: str, rounds: int, out: Path, *, peers: Sequence[str] = EVERYONE
) -> dict[str, Any]:
    command = [sys.executable, "bench.py", "run", "--suites", suites]
    command += ["--peers", ",".join(peers)]
    command += ["--rounds", str(rounds), "--out", str(out), "--envs", str(ENVS)]
    subprocess.run(command, cwd=SIDE, check=True)
    return json.loads(out.read_text())["suites"]


def ratio(suites: dict[str, Any], suite: str, case: str, peer: str) -> float | None:
    ratios = suites.get(suite, {}).get(case, {}).get(peer, {}).get("ratio")
    return statistics.median(ratios) if ratios else None


def exponent(suites: dict[str, Any], calls: int, peer: str) -> float | None:
    """Of the cost of a run between 50 and 200 rounds; 1 is linear."""
    cases = suites.get("tools", {})
    costs = [
        statistics.median(cpu)
        for rounds in (50, 200)
        if (cpu := cases.get(f"{rounds}x{calls}", {}).get(peer, {}).get("cpu"))
    ]
    return math.log(costs[1] / costs[0]) / math.log(4) if len(costs) == 2 else None


def first_token_ms(suites: dict[str, Any], peer: str) -> float | None:
    """Wall time to the first token, over the floor's."""
    case = suites.get("ttft", {}).get("ttft", {})
    if not case.get(peer, {}).get("first"):
        return None
    ours, floor = (statistics.median(case[each]["first"]) for each in (peer, FLOOR))
    return (ours - floor) * 1e3


def rss_kib(suites: dict[str, Any], peer: str) -> float | None:
    """Resident memory per open stream, from 100 to 1,000 of them."""
    rows = suites.get("concurrency", {}).get(peer, {})
    opened = [rows.get(count, {}).get("open", {}) for count in ("100", "1000")]
    if not all("peak_kb" in each for each in opened):
        return None
    few, many = (each["peak_kb"] - each["rss0_kb"] for each in opened)
    return (many - few) / 900


def figures(suites: dict[str, Any], peer: str) -> dict[str, float | None]:
    return {
        "stream": ratio(suites, "stream", "10000", peer),
        "block": ratio(suites, "block", "1000", peer),
        "paced": ratio(suites, "paced", "500", peer),
        "chat": ratio(suites, "chat", "chat", peer),
        "50x1": ratio(suites, "tools", "50x1", peer),
        "200x4": ratio(suites, "tools", "200x4", peer),
        "growth x1": exponent(suites, 1, peer),
        "growth x4": exponent(suites, 4, peer),
        "first token": first_token_ms(suites, peer),
        "1,000 streams": ratio(suites, "thousand", "1000", peer),
        "RSS": rss_kib(suites, peer),
    }


ROWS = (
    ("stream", "CPU per chunk, 10,000 chunks", "0.85", "0.45"),
    ("block", "CPU per chunk, big packets", "1.0", ""),
    ("paced", "CPU per chunk at 500 tokens/s", "1.0", ""),
    ("chat", "CPU of one call, not streamed", "", ""),
    ("50x1", "CPU per tool round, 50 rounds of 1 call", "0.9", ""),
    ("200x4", "CPU per tool round, 200 rounds of 4 calls", "0.7", ""),
    ("growth x1", "growth exponent 50 to 200 rounds, 1 call", "1.1", ""),
    ("growth x4", "growth exponent 50 to 200 rounds, 4 calls", "1.1", ""),
    ("first token", "first token over the floor, ms", "1", ""),
    ("1,000 streams", "CPU per chunk, 1,000 streams at once", "", ""),
    ("RSS", "KiB resident per open stream", "", ""),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer suites and rounds")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--suites")
    parser.add_argument("--json", type=Path, help="keep the raw figures in this file")
    arguments = parser.parse_args()
    make_environment("floor")
    make_environment("rxagent", str(HERE.parent))
    everything = "stream,block,paced,chat,tools,ttft,thousand,concurrency"
    suites = arguments.suites or (
        "stream,block,chat,ttft" if arguments.quick else everything
    )
    with tempfile.TemporaryDirectory() as folder:
        out = arguments.json or Path(folder) / "figures.json"
        rounds = 3 if arguments.quick else arguments.rounds
        measured = measure(suites, rounds, out)
    # The floor's environment has httpx as `pip install httpx` gives it.
    columns = {peer: figures(measured, peer) for peer in EVERYONE}
    shown = [p for p in EVERYONE if any(v is not None for v in columns[p].values())]
    print(f"{'':44}{'goal':>6}{'fast':>6}" + "".join(f"{p[:12]:>14}" for p in shown))
    for key, label, goal, fast in ROWS:
        cells = [columns[peer][key] for peer in shown]
        if any(cell is not None for cell in cells):
            texts = ["-" if cell is None else f"{cell:.2f}" for cell in cells]
            line = "".join(f"{text:>14}" for text in texts)
            print(f"{label:44}{goal:>6}{fast:>6}{line}")


if __name__ == "__main__":
    main()
