"""What goes wrong with an MCP server, as failures of a tool."""

from __future__ import annotations

import httpx2
from mcp import MCPError, types

from rxagent.errors import FailureKind, ToolFailedError

__all__ = ["NeverRanError", "failure_of", "lost", "refused"]

_KINDS: dict[int, FailureKind] = {
    types.INTERNAL_ERROR: "transient",
    types.REQUEST_TIMEOUT: "transient",
    types.URL_ELICITATION_REQUIRED: "environment",  # a person has to open a page
}


class NeverRanError(ToolFailedError):
    """The server has forgotten the session, so the call never ran."""


def failure_of(server: str, error: MCPError) -> ToolFailedError:
    """Say what a server complains of, and whether anybody can do better.

    Args:
        server: Its name.
        error: What it answered in place of a result.
    """
    if error.code == types.CONNECTION_CLOSED:
        return ToolFailedError(
            f"MCP server {server!r} broke off its answer; it may have done its work",
            kind="environment",
        )
    if error.message == "Session terminated":  # what the SDK makes of HTTP's 404
        return NeverRanError(
            f"MCP server {server!r} has ended the session", kind="environment"
        )
    kind = _KINDS.get(error.code, "semantic")
    return ToolFailedError(f"MCP server {server!r}: {error.message}", kind=kind)


def lost(server: str, reason: Exception | None) -> ToolFailedError:
    """Say that there is no connection, and why.

    Args:
        server: Its name.
        reason: What ended it; ``None`` if the server did.
    """
    why = "the server ended it" if reason is None else _said(reason)
    return ToolFailedError(
        f"no connection to MCP server {server!r}: {why}", kind="environment"
    )


def refused(status: int) -> ToolFailedError:
    """Say that a server does not let us in."""
    return ToolFailedError(
        f"it refuses the request (HTTP {status}); check the headers that were given",
        kind="environment",
    )


def _said(error: Exception) -> str:
    """The text of an error that shows no address and no key."""
    match error:
        case ExceptionGroup():
            return "; ".join(dict.fromkeys(map(_said, error.exceptions)))
        case ToolFailedError():
            return str(error)
        case MCPError():
            return error.message
        case TimeoutError():
            return "it does not answer in time; raise connect_timeout_s if it is slow"
        case OSError(strerror=str(reason)):
            return f"it cannot be started: {reason}"
        case httpx2.ConnectError():
            return "it cannot be reached; is the address right, and does it run?"
        case _:
            return type(error).__name__
