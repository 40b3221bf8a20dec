"""The only door to the network."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
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
from rxagent.models._clients import Clients
from rxagent.models._secrets import Secrets
from rxagent.patience import RetryPolicy, Timeouts

__all__ = [
    "Client",
    "Http",
    "Response",
    "chunks_of",
    "error_body",
    "is_answer",
    "read_rest",
]

Client = httpx.AsyncClient
Response = httpx.Response

_ANSWERS = {200, 201, 203}  # proxies say the latter two of a good answer
_KEYS = {"api-key", "authorization", "x-api-key", "x-goog-api-key"}  # headers
_REST_S = 0.1  # for the end of a body whose answer is complete


class Http:
    """POST to one provider, over one client for each event loop.

    Args:
        provider: Named in errors; by default the host.
        base_url: With scheme; paths are appended to it.  The user and the password in
            it are sent as HTTP's basic authorization.
        headers: Sent with each request; may hold the key, so they are never shown.
        timeouts: ``connect_s`` and ``gap_s`` are measured here, at the socket, where a
            comment or a ping is a sign of life; ``answer`` measures the others.
        retry: When ``answer`` sends a request again.
        client: Used as it is and never closed; it belongs to one event loop.

    Raises:
        ConfigurationError: If ``base_url`` is no http address, has a query or a
            fragment, or holds a password although there is an authorization.
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
        if "?" in base_url or "#" in base_url:
            raise ConfigurationError(
                "base_url must end before its '?' or '#', as paths are appended to it; "
                "pass a query with client=httpx.AsyncClient(params={...})"
            )
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
        self.provider = provider or parsed.netloc.decode()
        self._headers = {name.lower(): text for name, text in headers.items()}
        if parsed.userinfo:
            if "authorization" in self._headers:
                raise ConfigurationError(
                    "base_url holds a user and a password, and there is a key too, but "
                    "a request has one authorization; leave out one of them "
                    "(api_key='' is no key)"
                )
            login = b64encode(f"{parsed.username}:{parsed.password}".encode())
            self._headers["authorization"] = f"Basic {login.decode()}"
        keys = [text for name, text in self._headers.items() if name in _KEYS]
        self._secrets = Secrets(
            [*(key.rpartition(" ")[2] for key in keys), parsed.password]
        )
        self.timeouts = timeouts
        self.retry = retry
        self._timeout = httpx.Timeout(timeouts.gap_s, connect=timeouts.connect_s)
        self._given = client
        self._clients = Clients(secure=parsed.scheme == "https")

    @asynccontextmanager
    async def post(
        self, path: str, body: bytes, *, headers: Mapping[str, str]
    ) -> AsyncGenerator[Response]:
        """Send ``body`` and yield the response, its own body unread.

        Raises:
            ModelError: Whatever fails in between, also while the body is read.  No key
                is shown in it.
            ConfigurationError: If the client that was given is closed.
        """
        try:
            client = self._given or await self._clients.of_loop()
            if client.is_closed:
                raise ConfigurationError(
                    f"the client that was passed for {self.shown_url} is closed; close "
                    "it after its last answer, or pass none"
                )
            request = client.build_request(
                "POST",
                self.shown_url + path,
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
        except ModelError as error:
            self._secrets.hide(error)
            raise

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


def chunks_of(response: Response) -> AsyncIterator[bytes]:
    """The body as it comes; a server may compress it though it was asked not to."""
    if "content-encoding" in response.headers:
        return response.aiter_bytes()
    # `aiter_raw` would close the response at its end, where a cancellation may hit it.
    assert isinstance(response.stream, AsyncIterable)
    return aiter(response.stream)


def is_answer(response: Response) -> bool:
    """Whether the body of ``response`` should be an answer, and no error."""
    return response.status_code in _ANSWERS


async def error_body(response: Response) -> bytes:
    """The body, or what came before it broke off: the status says more than it."""
    pieces: list[bytes] = []
    with suppress(httpx.HTTPError, httpx.StreamError):
        async for chunk in chunks_of(response):
            pieces.append(chunk)  # noqa: PERF401 - what came is kept
    return b"".join(pieces)


async def read_rest(chunks: AsyncIterator[bytes]) -> None:
    """Read a body to its end, if that is near: only then is its connection kept.

    Nobody needs what is left, so it may as well not come, or break off.
    """
    with suppress(TimeoutError, httpx.HTTPError, httpx.StreamError):
        async with asyncio.timeout(_REST_S):
            async for _ in chunks:
                pass


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
