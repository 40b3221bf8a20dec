"""A client of Redis, and what it says of a failure."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from rxagent.errors import ConfigurationError
from rxagent.runtime import PerLoop

__all__ = ["AnyClient", "Clients", "Commands"]

AnyClient: TypeAlias = Redis | RedisCluster

_CONNECTIONS = 20


class Commands(Protocol):
    """All that is asked of a client.  Its own methods differ between its versions."""

    def execute_command(self, *words: str | bytes | int) -> Awaitable[Any]:
        """Send a command; return its reply."""
        ...


class Clients:
    """The clients of one server: one for each event loop, or one that was given.

    Args:
        server: Its URL, or a client that is used as it is.
        timeout_s: Longest silence of the server.

    Raises:
        ConfigurationError: If the URL cannot be read.  It is not shown.
    """

    def __init__(self, server: str | AnyClient, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._given = None if isinstance(server, str) else server
        self._clients = PerLoop(Redis.aclose)
        self._url, self._password = "", ""
        self.shown = type(server).__name__
        """Which server, without a secret."""
        if isinstance(server, str):
            self._url = server
            try:
                self._make()
                parts = urlsplit(server)
                port = f":{parts.port}" if parts.port else ""
            except ValueError:
                raise ConfigurationError(
                    "this is no URL of Redis; write it like 'redis://host:6379/0'"
                ) from None
            self._password = parts.password or ""
            self.shown = f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"

    async def of_loop(self) -> Commands:
        """The client of the running loop."""
        client: AnyClient | None = self._given
        if client is None:
            client = await self._clients.opened(self._make)
        return cast("Commands", client)

    def hidden(self, text: str) -> str:
        """What the server or its client says, without the password.

        Args:
            text: Of an error.
        """
        for password in filter(None, (self._password, unquote(self._password))):
            text = text.replace(password, "[secret]")
        return text

    def _make(self) -> Redis:
        pool = BlockingConnectionPool.from_url(  # pyright: ignore[reportUnknownMemberType]
            self._url,
            max_connections=_CONNECTIONS,
            timeout=self._timeout_s,
            socket_timeout=self._timeout_s,
            socket_connect_timeout=self._timeout_s,
            # A command whose answer was lost may have been carried out: never again.
            retry=Retry(NoBackoff(), 0),
        )
        return Redis.from_pool(pool)
