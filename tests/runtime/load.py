"""Many calls and streams, and a count of what they leave behind."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import httpx

from rxagent import Agent
from rxagent.models import OpenAIChat
from rxagent.runtime import iterate
from tests.runtime.upstream import open_sockets

__all__ = ["Census", "call", "census", "in_memory", "stream"]

_LIBRARIES = {"anyio", "h11", "httpcore", "httpx", "reactivex", "rxagent"}
_ANSWER = b"".join(
    b'data: {"choices":[{"delta":{"content":"%d "},"finish_reason":%s}]}\n\n'
    % (number, b'"stop"' if number == 4 else b"null")
    for number in range(5)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """What is there at a moment."""

    tasks: int
    threads: int
    sockets: int
    objects: Counter[str]

    def grown_since(self, before: Census, *, noise: int = 10) -> dict[str, int]:
        """What there is more of; caches of libraries make some ``noise``."""
        grown = {
            name: count
            for name, count in (self.objects - before.objects).items()
            if count > noise
        }
        for name in ("tasks", "threads", "sockets"):
            more: int = getattr(self, name) - getattr(before, name)
            if more > 0:
                grown[name] = more
        return grown


async def census() -> Census:
    """Count, when what is about to end has ended."""
    for _ in range(100):
        await asyncio.sleep(0)
    gc.collect()
    types = [type(each) for each in gc.get_objects()]
    return Census(
        tasks=len(asyncio.all_tasks()),
        threads=threading.active_count(),
        sockets=open_sockets(),
        objects=Counter(
            f"{each.__module__}.{each.__qualname__}"
            for each in types
            # Some object of another test may have a module that is no text.
            if str(each.__module__).partition(".")[0] in _LIBRARIES
        ),
    )


class _Body(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        for start in range(0, len(_ANSWER), 100):
            yield _ANSWER[start : start + 100]


def _respond(_: httpx.Request) -> httpx.Response:
    headers = {"content-type": "text/event-stream"}
    return httpx.Response(200, headers=headers, stream=_Body())


@asynccontextmanager
async def in_memory() -> AsyncGenerator[Agent]:
    """An agent whose provider is no further away than a function call."""
    transport = httpx.MockTransport(_respond)
    async with httpx.AsyncClient(transport=transport) as client:
        yield Agent(OpenAIChat(model="m", base_url="http://test/v1", client=client))


async def call(agent: Agent) -> None:
    """One call, to its end."""
    response = await agent.call("hi")
    assert response.finish_reason == "stop"


async def stream(agent: Agent, number: int) -> None:
    """One stream: read to the end, left early, or cancelled, in turns."""
    if number % 4 == 0:
        async for _ in iterate(agent.stream("hi")):
            pass
    elif number % 4 == 1:
        async with aclosing(iterate(agent.stream("hi"))) as events:
            await anext(events)
    elif number % 4 == 2:
        async for _ in iterate(agent.stream("hi")):
            break  # and the garbage collector closes it
    else:
        agent.stream("hi").subscribe().dispose()
