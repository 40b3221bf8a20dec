"""What sessions leave behind: nothing."""

from __future__ import annotations

import asyncio
import gc
import os
import threading

from rxagent.integrations.mcp import McpServer
from tests.integrations.busy_server import busy_server
from tests.integrations.http_server import HttpServer
from tests.integrations.mcp_servers import (
    answer_of,
    events_of,
    in_memory,
    plain_process,
)


async def leave(hanging: McpServer) -> None:
    """Start a call that never ends, and leave it."""
    call = asyncio.ensure_future(events_of(hanging, "hang"))
    for _ in range(20):
        await asyncio.sleep(0)
    call.cancel()


async def open_and_close(url: str) -> None:
    async with (
        plain_process() as process,
        in_memory(busy_server()) as memory,
        McpServer.http(url) as http,
    ):
        await answer_of(process, "echo")
        for server in (memory, http):
            await answer_of(server, "add", a=1, b=2)
        for server in (process, memory, http):
            await leave(server)


async def open_and_forget(url: str) -> None:
    for server in (plain_process(), in_memory(busy_server()), McpServer.http(url)):
        await server.tools_now()


def left() -> tuple[int, int, int]:
    """Tasks, threads and open files, those of processes and sockets included."""
    gc.collect()
    tasks, files = asyncio.all_tasks(), os.listdir("/proc/self/fd")
    return len(tasks), threading.active_count(), len(files)


def test_sessions_that_are_closed_or_forgotten_leave_nothing() -> None:
    async def scenario(url: str) -> None:
        async with asyncio.timeout(60):
            await open_and_close(url)  # what libraries keep is no leak
            await open_and_forget(url)
            while left()[0] > 1:
                await asyncio.sleep(0.01)
            before = left()
            for _ in range(3):
                await open_and_close(url)
                await open_and_forget(url)
            # The server, too, has to see that it is left.
            while left() > before or left()[2] > before[2]:
                await asyncio.sleep(0.01)

    with HttpServer(busy_server().streamable_http_app()) as http:
        asyncio.run(scenario(f"{http.url}/mcp"))
