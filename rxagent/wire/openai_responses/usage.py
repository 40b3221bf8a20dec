"""Where the Responses API puts its token counts."""

from __future__ import annotations

from rxagent.wire.json_text import is_object
from rxagent.wire.usage import UsageReport

__all__ = ["usage_report"]


def usage_report(usage: object) -> UsageReport | None:
    """Read the ``usage`` of a response, if there is one.

    Args:
        usage: As it came.
    """
    if not is_object(usage) or not usage:
        return None
    prompt = usage.get("input_tokens_details")
    output = usage.get("output_tokens_details")
    return UsageReport(
        prompt_tokens=_count(usage, "input_tokens"),
        cache_read_tokens=_count(prompt, "cached_tokens"),
        cache_write_tokens=_count(prompt, "cache_write_tokens"),
        output_tokens=_count(usage, "output_tokens"),
        reasoning_tokens=_count(output, "reasoning_tokens"),
        total_tokens=_count(usage, "total_tokens"),
    )


def _count(numbers: object, name: str) -> int | None:
    count = numbers.get(name) if is_object(numbers) else None
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        return None
    return count
