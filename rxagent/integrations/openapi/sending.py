"""Sending the requests of tools, and reading the answers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping

import httpx

from rxagent.errors import FailureKind, ToolFailedError
from rxagent.integrations.openapi.operation import Request
from rxagent.messages import Audio, File, Image
from rxagent.wire.json_text import load_json

__all__ = ["Sender"]

_CONNECT_TIMEOUT_S = 10.0
_SHOWN_CHARS = 1_000  # of what a server says is wrong
_FORBIDDEN = (401, 403, 407)
_LATER = (408, 425, 429)
_SHORTEST_KEY = 8  # characters
# A proxy that the environment names cannot reach this machine's own servers.
_NO_PROXY = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}


class Sender:
    """Sends requests to one server, each over a connection of its own.

    Args:
        base_url: Where the paths begin.
        headers: Sent with each request; never shown.
        read_timeout_s: Longest silence of the server, in seconds.
    """

    def __init__(
        self, base_url: str, headers: Mapping[str, str], *, read_timeout_s: float
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._headers = headers
        words = {word for value in headers.values() for word in (value, *value.split())}
        self._secrets = sorted(filter(_may_be_key, words), key=len, reverse=True)
        self._timeout = httpx.Timeout(read_timeout_s, connect=_CONNECT_TIMEOUT_S)
        self._certificates: ssl.SSLContext | None = None

    async def send(self, request: Request) -> object:
        """Send a request and return what the server answers, as a tool would.

        Raises:
            ToolFailedError: If that is an error, or nothing.
        """
        try:
            async with httpx.AsyncClient(
                verify=await self._verify(),
                timeout=self._timeout,
                mounts=_NO_PROXY,
            ) as client:
                response = await client.request(
                    request.method,
                    self._base_url + request.path,
                    headers={**request.headers, **self._headers},
                    content=request.body,
                )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # Its text may show the address, and that a key.
            raise ToolFailedError(
                f"the server cannot be reached: {type(error).__name__}",
                kind="transient",
            ) from None
        text = self._hidden(response.text) if _is_text(response) else ""
        if not response.is_success:
            raise _failure(response, text)
        return _result(response, text)

    def _hidden(self, text: str) -> str:
        """What a server says, without the headers, should it repeat them."""
        for secret in self._secrets:
            text = text.replace(secret, "[secret]")
        return text

    async def _verify(self) -> ssl.SSLContext | bool:
        if not self._base_url.startswith("https:"):
            return False
        if self._certificates is None:
            # It takes a tenth of a second, and no loop may stand still that long.
            self._certificates = await asyncio.to_thread(httpx.create_ssl_context)
        return self._certificates


def _may_be_key(word: str) -> bool:
    return len(word) >= _SHORTEST_KEY


def _failure(response: httpx.Response, said: str) -> ToolFailedError:
    status = response.status_code
    kind: FailureKind = "semantic"
    if status in _FORBIDDEN:
        kind = "environment"
    elif status in _LATER or status >= 500:
        kind = "transient"
    if len(said) > _SHOWN_CHARS:
        said = f"{said[: _SHOWN_CHARS - 1]}…"
    return ToolFailedError(
        f"HTTP {status} {response.reason_phrase}: {said}".rstrip(": "), kind=kind
    )


def _result(response: httpx.Response, text: str) -> object:
    media_type = _media_type(response)
    if not response.content:
        return f"HTTP {response.status_code} {response.reason_phrase}"
    if media_type == "application/json" or media_type.endswith("+json"):
        try:
            return load_json(text)
        except ValueError:
            return text
    if media_type.startswith("image/"):
        return Image(data=response.content, media_type=media_type)
    if media_type.startswith("audio/"):
        return Audio(data=response.content, media_type=media_type)
    if _is_text(response):
        return text
    return File(data=response.content, media_type=media_type)


def _media_type(response: httpx.Response) -> str:
    written: str = response.headers.get("content-type", "text/plain")
    return written.partition(";")[0].strip().lower()


def _is_text(response: httpx.Response) -> bool:
    media_type = _media_type(response)
    return media_type.startswith("text/") or media_type.endswith(("json", "xml"))
