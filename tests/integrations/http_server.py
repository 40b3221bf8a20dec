"""An ASGI app on loopback."""

from __future__ import annotations

import asyncio
import socket
import threading
from types import TracebackType

import uvicorn
from starlette.types import ASGIApp

__all__ = ["HttpServer"]


class HttpServer:
    """Serves an ASGI app on loopback, on a thread; a context manager.

    Args:
        app: To serve.
        port: Of an earlier server that this one takes the place of.
    """

    def __init__(self, app: ASGIApp, port: int = 0) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        config = uvicorn.Config(
            app, log_level="critical", ws="none", timeout_graceful_shutdown=0
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._main)

    @property
    def url(self) -> str:
        """With scheme and port, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> HttpServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()

    def _main(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._listener]))
