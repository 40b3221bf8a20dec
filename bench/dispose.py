"""How soon a server sees that a stream was left: 200 times, in five ways, over HTTP.

Run: python -m bench.dispose
"""

from __future__ import annotations

import asyncio
import sys
from statistics import median

from rxagent import Agent
from rxagent.models import OpenAIChat
from tests.runtime.leaving import WAYS
from tests.runtime.upstream import SECONDS, Upstream

TIMES = 40
MEDIAN_MS, WORST_MS = 10.0, 50.0


async def measured(agent: Agent, upstream: Upstream) -> dict[str, list[float]]:
    """Leave in turns, so that a slow second hits every way."""
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    for time_ in range(1 + TIMES):
        for name, leave in WAYS.items():
            left_at = await leave(agent.stream("hi"))
            # Not in the loop's way, which has a connection to close.
            seen_at = await asyncio.to_thread(upstream.left.get, True, SECONDS)
            if time_ > 0:  # the first one builds the client
                found[name].append((seen_at - left_at) * 1000)
    return found


def main() -> None:
    """Print the median and the worst, and fail above the limits."""
    with Upstream(items=3) as upstream:
        model = OpenAIChat(model="m", base_url=upstream.base_url, api_key="k")
        found = asyncio.run(measured(Agent(model), upstream))
    every = [ms for times in found.values() for ms in times]
    for name, times in {**found, f"all {len(every)}": every}.items():
        print(f"median {median(times):5.2f} ms  worst {max(times):6.2f} ms  {name}")
    print(f"allowed: median {MEDIAN_MS:g} ms, worst {WORST_MS:g} ms")
    if median(every) > MEDIAN_MS or max(every) > WORST_MS:
        sys.exit("the server sees it too late")


if __name__ == "__main__":
    main()
