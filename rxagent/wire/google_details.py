"""What Google's APIs add to an error, each piece under a type of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rxagent.wire.json_text import is_array, is_object

__all__ = ["reason", "retry_delay_s"]

_SECONDS = re.compile(r"(\d{1,12}(\.\d{0,12})?)s", re.ASCII)


def reason(error: dict[str, object]) -> str | None:
    """Return the word that is more exact than ``status``, such as API_KEY_INVALID.

    Args:
        error: Has ``details``, if Google has sent it.

    Source: google/rpc/error_details.proto, ErrorInfo.
    """
    for detail in _details(error):
        word = detail.get("reason")
        if isinstance(word, str) and word:
            return word
    return None


def retry_delay_s(error: dict[str, object]) -> float | None:
    """Return after how many seconds Google wants to be asked again.

    Args:
        error: Has ``details``, if Google has sent it.

    Source: google/rpc/error_details.proto, RetryInfo.
    """
    for detail in _details(error):
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and (seconds := _SECONDS.fullmatch(delay)):
            return float(seconds[1])
    return None


def _details(error: dict[str, object]) -> Iterator[dict[str, object]]:
    details = error.get("details")
    if is_array(details):
        yield from filter(is_object, details)
