"""When a provider wants to be asked again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["retry_after_s"]

_NUMBER = re.compile(r"\d+(\.\d*)?", re.ASCII)


def retry_after_s(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Read the hint of an error response.

    Args:
        headers: Of the response; names in any case.
        now: The present, with its time zone.

    Returns:
        Seconds to wait, infinite if no float is that large; 0 for a date in the past;
        ``None`` without a usable hint.

    Source: RFC 9110, 10.2.3, Retry-After; ``retry-after-ms`` is OpenAI's, and finer.
    """
    hints = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = hints.get("retry-after-ms", "")
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    hint = hints.get("retry-after", "")
    if _NUMBER.fullmatch(hint):
        return float(hint)
    try:
        date = parsedate_to_datetime(hint)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max((date - now).total_seconds(), 0.0)
