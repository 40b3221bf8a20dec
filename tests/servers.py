"""A loopback server that speaks OpenAI's chat completions, well or badly.

    with ChatServer(streamed("Hel", "lo")) as server:
        OpenAIChat(model="m", base_url=server.base_url, api_key="k")

Each request takes the next answer of the script.  Other formats have scripts of their
own: an answer may be made of the request.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Literal

__all__ = [
    "Answer",
    "Asked",
    "ChatServer",
    "called",
    "cut_off",
    "error",
    "html",
    "never",
    "streamed",
    "whole",
]

Json = Mapping[str, object]

_SSE = {"content-type": "text/event-stream"}
_JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer of the server.

    Args:
        status: Of HTTP.
        headers: Besides those that frame the body.
        pieces: The body; each piece is sent and flushed apart.
        then: ``"end"`` ends the body as HTTP wants it, ``"cut"`` closes the connection
            inside it, ``"hang"`` sends no more until the server closes.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    pieces: tuple[bytes, ...] = ()
    then: Literal["end", "cut", "hang"] = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request that came."""

    path: str
    headers: Mapping[str, str]
    body: Json


def streamed(*deltas: str, finish_reason: str = "stop", done: bool = True) -> Answer:
    """A streamed answer of text, one chunk a delta, with usage."""
    return _stream(
        [
            _chunk({"role": "assistant", "content": ""}),
            *(_chunk({"content": delta}) for delta in deltas),
            _chunk({}, finish_reason=finish_reason),
            _usage(),
        ],
        done=done,
    )


def called(name: str, /, *, text: str = "", **arguments: object) -> Answer:
    """A streamed answer that calls a tool, its arguments in two pieces."""
    written = json.dumps(arguments)
    half = len(written) // 2

    def call(**members: object) -> Json:
        return _chunk({"tool_calls": [{"index": 0, **members}]})

    return _stream(
        [
            _chunk({"role": "assistant", "content": text or None}),
            call(id="call_1", type="function", function={"name": name}),
            call(function={"arguments": written[:half]}),
            call(function={"arguments": written[half:]}),
            _chunk({}, finish_reason="tool_calls"),
            _usage(),
        ]
    )


def whole(text: str, *, finish_reason: str = "stop") -> Answer:
    """An answer in one piece, for a request that does not stream."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    body = {**_ENVELOPE, "object": "chat.completion", "choices": [choice]}
    return Answer(headers=_JSON, pieces=(_bytes({**body, "usage": _USAGE}),))


def cut_off(*deltas: str) -> Answer:
    """A stream whose connection is lost after the deltas."""
    chunks = tuple(_event(_chunk({"content": delta})) for delta in deltas)
    return Answer(headers=_SSE, pieces=chunks, then="cut")


def never(*deltas: str) -> Answer:
    """A stream that stands still after the deltas; without any, not a byte comes."""
    chunks = tuple(_event(_chunk({"content": delta})) for delta in deltas)
    return Answer(headers=_SSE, pieces=chunks, then="hang")


def error(
    status: int,
    message: str,
    *,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """An error in OpenAI's shape."""
    body = {
        "error": {"message": message, "type": "invalid_request_error", "code": code}
    }
    return Answer(
        status=status, headers={**_JSON, **(headers or {})}, pieces=(_bytes(body),)
    )


def html(status: int, page: str) -> Answer:
    """What a proxy says in the provider's place."""
    headers = {"content-type": "text/html"}
    return Answer(status=status, headers=headers, pieces=(page.encode(),))


class ChatServer:
    """The server; a context manager.

    Args:
        script: One answer for each request, or what makes it; the last one repeats.
    """

    def __init__(self, *script: Answer | Callable[[Asked], Answer]) -> None:
        self.asked: list[Asked] = []
        """Every request, in the order in which they came."""
        self.was_asked = threading.Event()
        """Set when the first request has come."""
        self.hung_up = threading.Event()
        """Set when a client has closed a connection inside an answer."""
        self._script = script
        self._lock = threading.Lock()
        self._closing = False
        self._held: list[socket.socket] = []
        self._http = _Http(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def base_url(self) -> str:
        """For a client of OpenAI."""
        return f"{self.url}/v1"

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._closing = True
            for connection in self._held:
                with suppress(OSError):  # the client was faster
                    connection.shutdown(socket.SHUT_RDWR)
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def take(self, asked: Asked) -> Answer:
        """Note a request and return its answer."""
        with self._lock:
            number = len(self.asked)
            self.asked.append(asked)
        self.was_asked.set()
        answer = self._script[min(number, len(self._script) - 1)]
        return answer if isinstance(answer, Answer) else answer(asked)

    def hold(self, connection: socket.socket) -> None:
        """Send no more, until the client hangs up or the test is over."""
        with self._lock:
            if self._closing:
                return
            self._held.append(connection)
        with suppress(ConnectionError):
            connection.recv(1)
        with self._lock:
            self._held.remove(connection)
            if not self._closing:
                self.hung_up.set()


class _Http(ThreadingHTTPServer):
    request_queue_size = 128  # many clients at once
    daemon_threads = False  # server_close waits for them, so that none is left

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is what some tests do."""


def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            answer = server.take(
                Asked(
                    path=self.path,
                    headers={key.lower(): text for key, text in self.headers.items()},
                    body=json.loads(self.rfile.read(length)),
                )
            )
            self.close_connection = True
            try:
                self._send(answer)
            except ConnectionError:
                server.hung_up.set()

        def _send(self, answer: Answer) -> None:
            if answer.then == "hang" and not answer.pieces:
                server.hold(self.connection)
                return
            self.send_response(answer.status)
            for key, value in answer.headers.items():
                self.send_header(key, value)
            self.send_header("transfer-encoding", "chunked")
            self.send_header("connection", "close")
            self.end_headers()
            for piece in answer.pieces:
                self._write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if answer.then == "end":
                self._write(b"0\r\n\r\n")
            elif answer.then == "hang":
                server.hold(self.connection)

        def _write(self, data: bytes) -> None:
            self.wfile.write(data)
            self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    return Handler


_ENVELOPE: Json = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": "test-model"}
_USAGE: Json = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}


def _chunk(delta: Json, *, finish_reason: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {**_ENVELOPE, "object": "chat.completion.chunk", "choices": [choice]}


def _usage() -> Json:
    return {
        **_ENVELOPE,
        "object": "chat.completion.chunk",
        "choices": [],
        "usage": _USAGE,
    }


def _stream(chunks: Iterable[Json], *, done: bool = True) -> Answer:
    end: Sequence[bytes] = (b"data: [DONE]\n\n",) if done else ()
    return Answer(headers=_SSE, pieces=(*map(_event, chunks), *end))


def _event(chunk: Json) -> bytes:
    return b"data: %s\n\n" % _bytes(chunk)


def _bytes(value: Json) -> bytes:
    return json.dumps(value).encode()
