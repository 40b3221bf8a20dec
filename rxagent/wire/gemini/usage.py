"""Where Gemini puts its token counts."""

from __future__ import annotations

from rxagent.usage import Usage
from rxagent.wire.usage import UsageMeter, UsageReport

__all__ = ["UsageTotals"]


_NAMES = (
    "promptTokenCount",
    "cachedContentTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
)


class UsageTotals:
    """Keep the last known of each count.

    A chunk reports running totals, and leaves out what has not changed or is 0.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    @property
    def has_reports(self) -> bool:
        """Whether anything has been reported."""
        return bool(self._counts)

    def take(self, metadata: dict[str, object]) -> None:
        """Take the ``usageMetadata`` of a chunk."""
        for name in _NAMES:
            count = metadata.get(name)
            if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
                self._counts[name] = count

    def usage(self) -> Usage:
        """Return the usage of the whole answer.

        Thoughts are output.  What tools of the server read into the prompt is prompt,
        though Gemini counts it apart.
        """
        prompt, cached, tools, answer, thoughts, total = map(self._counts.get, _NAMES)
        meter = UsageMeter("cumulative")
        meter.report(
            UsageReport(
                prompt_tokens=_sum(prompt, tools),
                cache_read_tokens=cached,
                output_tokens=_sum(answer, thoughts),
                reasoning_tokens=thoughts,
                total_tokens=total,
            )
        )
        return meter.usage("")


def _sum(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other
