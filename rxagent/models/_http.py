"""The only door to the network, and the only module that imports httpx."""

from __future__ import annotations

import asyncio
import ssl
import weakref
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress

import httpx

from rxagent.errors import (
    Clock,
    ConfigurationError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
)
from rxagent.patience import RetryPolicy, Timeouts

__all__ = ["Client", "Http", "Response"]

Client = httpx.AsyncClient
Response = httpx.Response

# httpcore counts all its connections for each idle one, so few are kept alive.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20)
# A proxy that the environment names cannot reach this machine's own servers.
_NO_PROXY = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}
_TURNS = 10  # of a loop; more than it takes to end


class Http:
    """POST to one provider, over one client for each event loop.

    Args:
        provider: Named in errors; by default the host.
        base_url: With scheme; paths are appended to it.
        headers: Sent with each request; may hold the key, so they are never shown.
        timeouts: ``connect_s`` and ``gap_s`` are measured here, at the socket, where a
            comment or a ping is a sign of life; ``answer`` measures the others.
        retry: When ``answer`` sends a request again.
        client: Used as it is and never closed; it belongs to one event loop.

    Raises:
        ConfigurationError: If ``base_url`` is no http address.
    """

    def __init__(
        self,
        *,
        provider: str,
        base_url: str,
        headers: Mapping[str, str],
        timeouts: Timeouts,
        retry: RetryPolicy,
        client: Client | None = None,
    ) -> None:
        try:
            parsed = httpx.URL(base_url)
        except httpx.InvalidURL:  # its text may show a password
            raise ConfigurationError(
                "base_url is no address; it must look like 'https://host/v1'"
            ) from None
        # An address may hold a password.
        self.shown_url = str(parsed.copy_with(userinfo=b"")).rstrip("/")
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ConfigurationError(
                f"base_url must look like 'https://host/v1', got {_harmless(base_url)}"
            )
        self._base_url = base_url.rstrip("/")
        self.provider = provider or parsed.netloc.decode()
        self._headers = dict(headers)
        self.timeouts = timeouts
        self.retry = retry
        self._timeout = httpx.Timeout(timeouts.gap_s, connect=timeouts.connect_s)
        self._given = client
        self._clients: dict[asyncio.AbstractEventLoop, Client] = {}
        self._lifetimes: dict[asyncio.AbstractEventLoop, AsyncGenerator[Client]] = {}
        # Held from outside until then: sockets that are garbage together with this
        # object would be lost before anything could close them.
        weakref.finalize(self, _end_soon, self._lifetimes).atexit = False

    @asynccontextmanager
    async def post(
        self, path: str, body: bytes, *, headers: Mapping[str, str]
    ) -> AsyncGenerator[Response]:
        """Send ``body`` and yield the response, its own body unread.

        Raises:
            ModelError: Whatever fails in between, also while the body is read.
        """
        try:
            client = self._given or await self._client()
            request = client.build_request(
                "POST",
                self._base_url + path,
                content=body,
                headers={**self._headers, **headers},
                timeout=self._timeout,
            )
            response = await _send(client, request)
            try:
                yield response
            finally:
                await _close(response)
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
            raise self._model_error(error) from error

    async def _client(self) -> Client:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            verify = await self._certificates()
            # Another request may have been faster; from here on nothing is awaited.
            if loop not in self._clients:
                for closed in [each for each in self._clients if each.is_closed()]:
                    del self._clients[closed], self._lifetimes[closed]
                lifetime = _lifetime(
                    httpx.AsyncClient(limits=_LIMITS, verify=verify, mounts=_NO_PROXY)
                )
                self._lifetimes[loop] = lifetime
                self._clients[loop] = await anext(lifetime)
        return self._clients[loop]

    async def _certificates(self) -> ssl.SSLContext | bool:
        # Loading them takes a tenth of a second, and no loop may stand still that long.
        # Plain HTTP needs none, as redirects are not followed.
        if not self._base_url.startswith("https:"):
            return False
        return await asyncio.to_thread(httpx.create_ssl_context)

    def _model_error(self, error: Exception) -> ModelError:
        where = self.shown_url
        match error:
            case httpx.ConnectTimeout():
                return self._timeout_error("connect", "no connection to")
            case httpx.ReadTimeout():
                return self._timeout_error("gap", "nothing came from")
            case httpx.WriteTimeout():
                return self._timeout_error("gap", "nothing could be sent to")
            case httpx.PoolTimeout():
                return self._timeout_error("gap", "no free connection to")
            case httpx.ConnectError():
                return ModelConnectionError(
                    f"cannot connect to {where}: {error}; "
                    "is base_url right, and does the server run?",
                    provider=self.provider,
                )
            case httpx.DecodingError():
                return MalformedResponseError(
                    f"the body from {where} cannot be decompressed: {error}",
                    provider=self.provider,
                )
            case _:
                detail = str(error) or type(error).__name__
                return ModelConnectionError(
                    f"the connection to {where} was lost: {detail}",
                    provider=self.provider,
                )

    def _timeout_error(self, clock: Clock, what: str) -> ModelTimeoutError:
        limits = self.timeouts
        limit_s = limits.connect_s if clock == "connect" else limits.gap_s
        long = "too long" if limit_s is None else f"{limit_s:g} s"
        return ModelTimeoutError(
            f"{what} {self.shown_url} for {long}; "
            f"raise {clock}_s of its timeouts if that server is slow",
            clock=clock,
            limit_s=limit_s,
            provider=self.provider,
        )


class _Trace:
    """What httpcore tells of a request: whether it goes over a kept connection."""

    def __init__(self) -> None:
        self.reused = False
        self._connected = False

    async def __call__(self, event: str, _: Mapping[str, object]) -> None:
        if event.startswith("connection.connect"):
            self._connected = True
        elif event.endswith(".send_request_headers.started"):
            self.reused = not self._connected


async def _send(client: Client, request: httpx.Request) -> Response:
    """Send a request, again if a kept connection turned out to be closed.

    Servers close connections that they promised to keep; llama.cpp does after each
    stream.  Then the request was never read, and a new connection gets it.  What fails
    on a new connection is not repeated.
    """
    while True:
        trace = request.extensions["trace"] = _Trace()
        try:
            return await client.send(request, stream=True)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            if not trace.reused:
                raise


def _harmless(address: str) -> str:
    """An address that is wrong, without what may be a password in it."""
    return repr(address) if "@" not in address else "something else, with a password"


async def _close(response: Response) -> None:
    """Close a response to the end, though its task be cancelled meanwhile.

    Source: httpcore shields its clean-up against anyio's cancellation, not asyncio's. A
    connection that is half-closed then stays in the pool, and open, for good.
    """
    closing = asyncio.ensure_future(response.aclose())
    try:
        await asyncio.shield(closing)
    except asyncio.CancelledError:
        await asyncio.wait([closing])
        raise


def _end_soon(
    lifetimes: dict[asyncio.AbstractEventLoop, AsyncGenerator[Client]],
) -> None:
    for loop, lifetime in lifetimes.items():
        with suppress(RuntimeError):  # the loop is closed, and its client with it
            loop.call_soon_threadsafe(_hold, loop, lifetime, _TURNS)
    lifetimes.clear()


def _hold(
    loop: asyncio.AbstractEventLoop, lifetime: AsyncGenerator[Client], turns: int
) -> None:
    """Keep ``lifetime`` for some turns: the loop may end with the model, right now.

    It then cancels every task, also one that closes a client, and after that closes the
    generators that are still there.
    """
    if turns > 0:
        loop.call_soon(_hold, loop, lifetime, turns - 1)


async def _lifetime(client: Client) -> AsyncGenerator[Client]:
    """Keep ``client`` open for as long as this generator lives.

    A loop closes its unfinished async generators when it ends (``asyncio.run`` and the
    portal ask it to), and finishes one that is garbage collected.  So a client closes
    with its loop or with its model, whichever goes first, and nobody has to remember.
    """
    try:
        yield client
    finally:
        await client.aclose()
