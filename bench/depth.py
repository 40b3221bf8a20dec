"""Does one more advisor ever cost a jump?  Sweeps advisors and the caller's depth.

    python bench/depth.py

CPython keeps call frames in blocks of 16 KiB; a chain that crosses the border of one
for each event pays ten times as much.  Events of a scripted model, microseconds each,
median and worst over the depths of the caller.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from rxagent import Agent, ChatEvent, after
from rxagent.operators import transduce
from rxagent.testing import Reply, ScriptedModel

EVENTS = 2_000
DEPTHS = range(0, 241, 12)
ADVISORS = (1, 2, 5, 10, 20, 30, 40)


class Same:
    def feed(self, event: ChatEvent, /) -> tuple[ChatEvent, ...]:
        return (event,)

    def flush(self) -> tuple[ChatEvent, ...]:
        return ()


def deeper(depth: int, run: Callable[[], float]) -> float:
    return run() if depth == 0 else deeper(depth - 1, run)


def main() -> None:
    reply = Reply(deltas=("x",) * EVENTS)
    print(f"{'advisors':>9}{'median µs':>11}{'worst µs':>10}{'worst/median':>14}")
    for count in ADVISORS:
        agent = Agent(
            ScriptedModel(reply, repeat_last=True),
            advisors=[after(transduce(Same)) for _ in range(count)],
        )

        def once(agent: Agent = agent) -> float:
            start = time.thread_time()
            agent.stream("go").subscribe()
            return (time.thread_time() - start) / EVENTS * 1e6

        costs = [min(deeper(depth, once) for _ in range(5)) for depth in DEPTHS]
        middle, worst = statistics.median(costs), max(costs)
        print(f"{count:>9}{middle:>11.2f}{worst:>10.2f}{worst / middle:>14.2f}")


if __name__ == "__main__":
    main()
