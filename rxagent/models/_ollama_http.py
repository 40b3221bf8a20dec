"""The way to Ollama, in all the forms in which it takes its address."""

from __future__ import annotations

import os
from ipaddress import AddressValueError, IPv6Address

from rxagent.errors import ConfigurationError
from rxagent.models._http import Client, Http
from rxagent.models._key import find_key
from rxagent.patience import RetryPolicy, Timeouts

__all__ = ["ollama_http", "ollama_url"]

_CLOUD = "https://ollama.com"
_PORT = "11434"
# Where a server listens for everybody, no client can reach it on every system.
_REACHABLE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


def ollama_http(
    *,
    provider: str,
    base_url: str | None,
    api_key: str | None,
    timeouts: Timeouts,
    retry: RetryPolicy,
    client: Client | None,
) -> Http:
    """Make the way to a server.

    Args:
        provider: Named in errors.
        base_url: See `ollama_url`.
        api_key: By default ``OLLAMA_API_KEY``; only ollama.com needs one.
        timeouts: How long to wait for what; see `Timeouts`.
        retry: When a request that failed is sent again; see `RetryPolicy`.
        client: Used as it is and never closed.

    Raises:
        ConfigurationError: If the address is no http address, or the key is missing or
            cannot be one.
    """
    url = ollama_url(base_url)
    key = find_key(api_key, "OLLAMA_API_KEY")
    if not key and url.startswith(_CLOUD):
        raise ConfigurationError(
            "ollama.com needs a key: set OLLAMA_API_KEY or pass api_key=..."
        )
    return Http(
        provider=provider,
        base_url=url,
        headers={"authorization": f"Bearer {key}"} if key else {},
        timeouts=timeouts,
        retry=retry,
        client=client,
    )


def ollama_url(given: str | None) -> str:
    """Return the address of a server as Ollama's own clients find it.

    Scheme, host and port may each be left out.  A scheme without a port means the port
    of that scheme, and not Ollama's.

    Args:
        given: The caller's; by default ``OLLAMA_HOST``, else this machine.

    Source: https://github.com/ollama/ollama/blob/main/envconfig/config.go
    """
    address = given or os.environ.get("OLLAMA_HOST") or ""
    address = address.strip().strip("\"'").strip()
    if address == "ollama.com":
        address = _CLOUD
    scheme, has_scheme, rest = address.partition("://")
    if not has_scheme:
        scheme, rest = "http", address
    place, slash, path = rest.partition("/")
    login, at, place = place.rpartition("@")
    host, port = _host_and_port(place)
    host = _REACHABLE.get(host, host)
    if not (port or has_scheme):
        port = _PORT
    return f"{scheme}://{login}{at}{host}{':' if port else ''}{port}{slash}{path}"


def _host_and_port(place: str) -> tuple[str, str]:
    try:
        return f"[{IPv6Address(place.strip('[]'))}]", ""
    except AddressValueError:
        pass
    host, colon, port = place.rpartition(":")
    return (host, port) if colon else (place, "")
