"""What Ollama says when something is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from rxagent.errors import ModelError
from rxagent.wire.provider_errors import error_of_response

__all__ = ["ollama_error"]

_HINTS = {
    401: "models of the cloud need 'ollama signin', or OLLAMA_API_KEY for ollama.com",
    404: "fetch the model with 'ollama pull', or check its name and base_url",
}


def ollama_error(
    provider: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: datetime,
) -> ModelError:
    """Make the error of an HTTP response.

    Args:
        provider: Whose response it is.
        status: 400 or more.
        headers: Of the response.
        body: JSON, HTML or nothing.
        now: The present, for a date in ``Retry-After``.
    """
    return error_of_response(provider, status, headers, body, now=now, hints=_HINTS)
