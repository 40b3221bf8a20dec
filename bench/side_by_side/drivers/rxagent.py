"""rxagent as its users write it: an agent with five advisors and a guard-like operator.

Six steps that see every event stand in each measurement; `middlewares` adds more.  The
tool is async, so that it runs on the loop, as the floor's does; a plain function would run
in a worker thread, which costs some 0.15 ms more.
"""

from __future__ import annotations

import httpx
import workload as w

from rxagent import Agent, ChatOptions, TextDelta, after, tool
from rxagent.advisors import tool_loop
from rxagent.models import OpenAIChat
from rxagent.operators import transduce
from rxagent.runtime import iterate

from .base import Base, Streamed, now

ADVISORS = 5


class Same:
    """A no-op: every event goes on as it is."""

    def feed(self, event):
        return (event,)

    def flush(self):
        return ()


class Holding:
    """What a guard costs: text waits for the next piece, anything else lets it out."""

    def __init__(self):
        self.held = None

    def feed(self, event):
        held, self.held = self.held, None
        if isinstance(event, TextDelta):
            self.held = event
            return (held,) if held is not None else ()
        return (held, event) if held is not None else (event,)

    def flush(self):
        return (self.held,) if self.held is not None else ()


@tool
async def add(a: int, b: int, note: str) -> int:
    """Add two integers and give back their sum."""
    return w.add(a, b, note)


UNLIMITED = tool_loop(max_rounds=None, max_calls=None, max_calls_per_tool=None)


class Driver(Base):
    supports = frozenset({"stream", "chat", "tools"})
    middleware = {"stream": "one more after(transduce(no-op))"}

    def client(self) -> httpx.AsyncClient | None:
        return None

    async def open(self) -> None:
        self.agents = {}
        self.own_client = self.client()

    async def close(self) -> None:
        if self.own_client is not None:
            await self.own_client.aclose()

    def agent(self, url: str, tools=()) -> Agent:
        key = (url, bool(tools))
        if key not in self.agents:
            steps = [after(transduce(Same)) for _ in range(ADVISORS + self.middlewares)]
            loop = [UNLIMITED] if tools else []
            self.agents[key] = Agent(
                OpenAIChat(
                    model=w.MODEL, base_url=url, api_key="x", client=self.own_client
                ),
                system=w.SYSTEM,
                tools=tools,
                advisors=[*loop, *steps, after(transduce(Holding))],
            )
        return self.agents[key]

    async def stream(self, url: str) -> Streamed:
        parts: list[str] = []
        first = 0.0
        async for event in iterate(self.agent(url).stream(w.PROMPT)):
            if isinstance(event, TextDelta):
                if not parts:
                    first = now()
                parts.append(event.text)
        return Streamed(len(parts), "".join(parts), first)

    async def chat(self, url: str) -> str:
        options = ChatOptions(stream=False)
        return (await self.agent(url).call(w.PROMPT, options=options)).text

    async def tools(self, url: str) -> str:
        return (await self.agent(url, [add]).call(w.PROMPT)).text
