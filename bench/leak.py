"""What 10,000 calls over HTTP and 100,000 streams in memory leave behind.

A quarter of the streams is read to the end; the others are left early, in three ways.

Run: python -m bench.leak [SHARE], where a share of 0.1 is a tenth of it all.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from rxagent import Agent
from rxagent.models import OpenAIChat
from tests.runtime.load import Census, call, census, in_memory, stream
from tests.runtime.upstream import Upstream

CALLS, STREAMS = 10_000, 100_000
PARTS = 10
GROWTH_KIB = 2_048
"""Allowed from the second part to the last: 26 bytes for each stream."""


def resident_kib() -> int:
    """The resident memory of this process, in KiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


async def measured(
    name: str, each: Callable[[int], Awaitable[None]], count: int
) -> bool:
    """Run ``each`` so often, print what is there after each part; is it flat?"""
    found: list[tuple[int, Census]] = []
    done = 0
    for part in range(PARTS):
        for _ in range(count // PARTS):
            await each(done)
            done += 1
        now = await census()
        found.append((resident_kib(), now))
        print(
            f"{done:7} {name}  {found[part][0]:7} KiB  {now.tasks} tasks  "
            f"{now.sockets} sockets  {now.threads} threads  "
            f"{now.objects.total()} objects",
            flush=True,
        )
    (before_kib, before), (after_kib, after) = found[1], found[-1]
    grown = after.grown_since(before)
    rest = count * (PARTS - 2) / PARTS
    per = (after_kib - before_kib) * 1024 / rest
    print(f"grown by {after_kib - before_kib} KiB, {per:.1f} bytes each; left: {grown}")
    return after_kib - before_kib <= GROWTH_KIB and not grown


async def all_of_it(upstream: Upstream, agent: Agent, share: float) -> bool:
    """Calls, then streams; both, though the first may have failed."""

    async def over_http(_: int) -> None:
        await call(agent)
        upstream.asked.get()  # the server is in this process, and takes notes

    async with in_memory() as near:
        flat = [
            await measured("calls  ", over_http, int(CALLS * share)),
            await measured("streams", partial(stream, near), int(STREAMS * share)),
        ]
    return all(flat)


def main() -> None:
    """Print the figures, and fail if anything grows."""
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    with Upstream(items=3, then="end") as upstream:
        agent = Agent(OpenAIChat(model="m", base_url=upstream.base_url, api_key="k"))
        flat = asyncio.run(all_of_it(upstream, agent, share))
    if not flat:
        sys.exit("something is left")


if __name__ == "__main__":
    main()
