"""An MCP server that does everything a server may do; also run as a program.

``python busy_server.py`` speaks stdio.  ``NOTES`` in the environment names a file that
takes notes of what happens to the server.
"""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import Annotated, Any

from mcp import types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

__all__ = ["PIXEL", "WAVE", "busy_server"]

PIXEL = b"\x89PNG a picture"
WAVE = b"RIFF a sound"


class Name(BaseModel):
    name: str


def note(line: str) -> None:
    if path := os.environ.get("NOTES"):
        with Path(path).open("a") as notes:
            notes.write(f"{line}\n")


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def ask_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


async def ask_model() -> Sample:
    question = types.SamplingMessage(
        role="user", content=types.TextContent(text="2 + 2?")
    )
    return Sample([question], max_tokens=7, system_prompt="Be brief.")


def busy_server(name: str = "busy") -> MCPServer[Any]:
    server = MCPServer[Any](name, log_level="CRITICAL")

    @server.tool()
    def add(a: Annotated[int, Field(description="One.")], b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(structured_output=False)
    def greet(name: str) -> str:
        return f"Hello {name}"

    @server.tool(structured_output=False)
    def show() -> list[types.ContentBlock]:
        """Show one of each."""
        text = types.TextResourceContents(uri="file:///a.txt", text="written")
        blob = types.BlobResourceContents(
            uri="file:///dir/a.pdf", mime_type="application/pdf", blob=encoded(b"%PDF")
        )
        drawn = types.BlobResourceContents(
            uri="file:///a.gif", mime_type="image/gif", blob=encoded(b"GIF")
        )
        return [
            types.TextContent(text="look"),
            types.ImageContent(data=encoded(PIXEL), mime_type="image/png"),
            types.AudioContent(data=encoded(WAVE), mime_type="audio/wav"),
            types.EmbeddedResource(resource=text),
            types.EmbeddedResource(resource=blob),
            types.EmbeddedResource(resource=drawn),
            types.ResourceLink(
                name="b", uri="https://host/b", description="the other one"
            ),
        ]

    @server.tool(structured_output=False)
    def blur() -> list[types.ContentBlock]:
        return [types.ImageContent(data="no base64", mime_type="image/png")]

    @server.tool()
    def fail() -> str:
        raise ToolError("there is no more cheese")

    @server.tool()
    def die() -> str:
        os._exit(3)

    @server.tool()
    async def count(to: int, ctx: Context[Any, Any]) -> str:
        for n in range(1, to + 1):
            await ctx.report_progress(n, to, f"step {n}")
        return "done"

    @server.tool()
    async def hang(ctx: Context[Any, Any]) -> str:
        note("hangs")
        await ctx.report_progress(0)
        try:
            await asyncio.Event().wait()
        except BaseException:
            note("cancelled")
            raise
        return "never"

    @server.tool()
    async def who(
        answer: Annotated[ElicitationResult[Name], Resolve(ask_name)],
    ) -> str:
        return answer.data.name if answer.action == "accept" else answer.action

    @server.tool()
    async def think(
        answer: Annotated[types.CreateMessageResult, Resolve(ask_model)],
    ) -> str:
        assert isinstance(answer.content, types.TextContent)
        return f"{answer.model} says {answer.content.text}"

    @server.tool()
    async def grow(name: str, ctx: Context[Any, Any]) -> str:
        """Add a tool."""
        server.add_tool(lambda: name, name=name, description="Grown.")
        await ctx.session.send_tool_list_changed()
        await ctx.notify_tools_changed()
        return name

    @server.tool()
    def environment(name: str) -> str:
        return os.environ.get(name, "nothing")

    return server


if __name__ == "__main__":
    note(f"started {os.getpid()}")
    busy_server().run()
    note("ended")
