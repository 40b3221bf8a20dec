"""A server on loopback that streams what a scene wants, and sees who hangs up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from tests.cases.case import Json

__all__ = ["Loopback", "Send", "chunk", "loopback"]

Send = Callable[[bytes], Awaitable[None]]
Script = Callable[[Json, Send], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class Loopback:
    """What a scene knows of its server."""

    base_url: str = ""
    open: int = 0
    """Connections that are open now."""
    hung_up: asyncio.Queue[None] = field(default_factory=asyncio.Queue[None])
    """One item for each client that closed its connection within an answer."""


def chunk(delta: Json, finish_reason: str | None = None) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return b"data: %b\n\n" % json.dumps({"choices": [choice]}).encode()


@asynccontextmanager
async def loopback(script: Script) -> AsyncGenerator[Loopback]:
    """Serve ``script`` for each request, which gets the body and what sends a piece.

    The script is cancelled when the client hangs up.
    """
    seen = Loopback()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.open += 1
        try:
            await _answer(reader, writer, script, seen)
        finally:
            seen.open -= 1
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        seen.base_url = f"http://{host}:{port}/v1"
        yield seen


async def _answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    script: Script,
    seen: Loopback,
) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
    length = next(int(value) for name, _, value in lines if name == b"content-length")
    body: Json = json.loads(await reader.readexactly(length))
    writer.write(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )

    async def send(piece: bytes) -> None:
        writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await writer.drain()

    answering = asyncio.ensure_future(script(body, send))
    leaving = asyncio.ensure_future(reader.read())
    await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
    if leaving.done():
        answering.cancel()
        seen.hung_up.put_nowait(None)
    else:
        leaving.cancel()
        writer.write(b"0\r\n\r\n")
    await asyncio.gather(answering, leaving, return_exceptions=True)
