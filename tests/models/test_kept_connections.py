from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

from rxagent.agent import Agent
from rxagent.errors import ModelConnectionError
from rxagent.models import OpenAIChat
from rxagent.patience import RetryPolicy


class Server:
    """Answers over raw sockets, and closes a kept connection when asked again.

    Args:
        answers: For each connection, how many requests it answers before it closes
            without a word.
    """

    def __init__(self, *answers: int) -> None:
        self.requests: list[int] = []
        """The connection of each request that was read, in order."""
        self._answers: Iterator[int] = iter(answers)
        self._connections = 0

    async def __call__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        number, self._connections = self._connections, self._connections + 1
        left = next(self._answers)
        try:
            while await _read_request(reader):
                self.requests.append(number)
                if left == 0:
                    return
                left -= 1
                writer.write(_ANSWER)
                await writer.drain()
                writer.write(_END)
                await writer.drain()
        finally:
            writer.close()
            await writer.wait_closed()


async def _read_request(reader: asyncio.StreamReader) -> bool:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return False
    [length] = [
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length")
    ]
    await reader.readexactly(length)
    return True


_CHUNK = {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}
_BODY = b"data: " + json.dumps(_CHUNK).encode() + b"\n\ndata: [DONE]\n\n"
_END = b"\n"
_ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_BODY) + len(_END), _BODY)
)


async def ask(server: Server, times: int) -> list[str]:
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        model = OpenAIChat(
            model="m",
            base_url=f"http://127.0.0.1:{port}/v1",
            retry=RetryPolicy(max_retries=0),
        )
        agent = Agent(model)
        return [(await agent.call("hi")).text for _ in range(times)]


def test_connections_are_kept() -> None:
    server = Server(9)

    assert asyncio.run(ask(server, 3)) == ["hi"] * 3
    assert server.requests == [0, 0, 0]


def test_a_kept_connection_that_was_closed_is_no_error() -> None:
    """llama.cpp closes it after each stream, though it promised to keep it."""
    server = Server(1, 1, 1)

    assert asyncio.run(ask(server, 3)) == ["hi"] * 3
    assert server.requests == [0, 0, 1, 1, 2]


def test_a_new_connection_that_is_closed_is_an_error_and_not_repeated() -> None:
    server = Server(0, 9)

    with pytest.raises(ModelConnectionError):
        asyncio.run(ask(server, 1))
    assert server.requests == [0]
