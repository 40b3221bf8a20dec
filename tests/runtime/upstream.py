"""A loopback provider that streams, counts what it could send, and notes who leaves.

It is raw asyncio on a thread of its own, so that it sees what a socket sees: how many
events the network took while nobody read them, and the moment at which a connection
is closed.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import threading
import time
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType
from typing import Literal

__all__ = ["SECONDS", "Upstream", "open_sockets"]

SECONDS = 30.0
"""A bound for what must happen soon; no measure."""

_HEAD = (
    b"HTTP/1.1 200 OK\r\n"
    b"content-type: text/event-stream\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
_SEND_BUFFER = 65_536  # in bytes; else the system takes megabytes that nobody reads


class Upstream:
    """Chat completions of ``items`` deltas; a context manager.

    Args:
        items: Deltas of an answer, each in a write of its own; the end goes with the
            last one.
        chars: Length of a delta.
        then: ``"end"`` ends the answer and keeps the connection alive, ``"hang"`` sends
            no more until the client leaves.
    """

    def __init__(
        self, *, items: int = 1, chars: int = 1, then: Literal["end", "hang"] = "hang"
    ) -> None:
        self.sent = 0
        """Events that the network has taken, of all answers."""
        self.asked: SimpleQueue[float] = SimpleQueue()
        """When a request came, on the clock of ``time.perf_counter``."""
        self.left: SimpleQueue[float] = SimpleQueue()
        """When a client was seen to close a connection inside an answer."""
        self.connections = 0
        """That are open."""
        self._items = items
        self._then = then
        self._event = _chunk({"content": "x" * chars})
        self._end = b"".join(
            (_chunk({}, finish_reason="stop"), _framed(b"data: [DONE]\n\n"), _framed())
        )
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever)

    @property
    def base_url(self) -> str:
        """For a client of OpenAI."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def __enter__(self) -> Upstream:
        start = asyncio.start_server(self._connected, sock=self._socket)
        self._server = self._loop.run_until_complete(start)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._close())
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # the turn after the last one closes their sockets

    def stalled(self, still_s: float = 0.3) -> int:
        """Wait until the network takes no more, and return how many events it took.

        A machine that is busy may seem to be still, and then the number is lower.
        """
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            before = self.sent
            time.sleep(still_s)
            if before and before == self.sent:
                return before
        raise AssertionError(f"it went on sending: {self.sent} of {self._items} events")

    async def _connected(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        writer.transport.set_write_buffer_limits(high=0)  # drained is: taken
        self.connections += 1
        try:
            while await self._asked(reader):
                try:
                    await self._answer(reader, writer)
                except ConnectionError:
                    self.left.put(time.perf_counter())
                    break
        except asyncio.CancelledError:
            pass  # the server closes; asyncio would report it
        finally:
            self.connections -= 1
            writer.transport.abort()

    async def _asked(self, reader: asyncio.StreamReader) -> bool:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
        except (asyncio.IncompleteReadError, ConnectionError):
            return False
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
        self.asked.put(time.perf_counter())
        return True

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(_HEAD)
        for number in range(1, self._items + 1):
            writer.write(self._event)
            if number == self._items and self._then == "end":
                writer.write(self._end)  # with the last delta, as busy servers do
            await writer.drain()
            self.sent += 1
        if self._then == "hang":
            await reader.read()
            raise ConnectionResetError("the client has left")


def _chunk(delta: dict[str, str], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    body = {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}
    return _framed(b"data: %s\n\n" % json.dumps(body).encode())


def _framed(data: bytes = b"") -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def open_sockets() -> int:
    """How many sockets this process has open."""
    found = 0
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # the one that the directory was read through
            found += stat.S_ISSOCK(os.fstat(int(name)).st_mode)
    return found
