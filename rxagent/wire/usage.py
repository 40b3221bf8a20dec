"""Token usage of one answer, from however many reports, of whatever meaning.

Some providers report once, some the running total, some what was added, some the same
number on each chunk.  No function of the numbers alone can be right (2, 4 is six tokens
or four), so the rule looks at the text beside them, says how sure it is, and yields to
a declared mode.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import Literal, TypeAlias

from rxagent.usage import Usage, UsageBasis

__all__ = ["UsageMeter", "UsageMode", "UsageReport"]

UsageMode: TypeAlias = Literal["auto", "incremental", "cumulative", "final"]
"""What the numbers of a provider's reports mean."""

_WIDE = re.compile(
    r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """The numbers of one report.  0 says nothing about a prompt or an answer.

    Args:
        prompt_tokens: The whole prompt, cached or not.
        cache_read_tokens: The part of it that was read from the cache.
        cache_write_tokens: The part of it that was written to the cache.
        output_tokens: The answer, reasoning included.
        reasoning_tokens: The part of it that was reasoning.
        total_tokens: The provider's own sum.
        with_text: Whether text or arguments came with the report.
    """

    prompt_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None
    with_text: bool = False


class UsageMeter:
    """Collect the reports of one answer.

    Args:
        mode: What the numbers mean, if the provider says so.
    """

    def __init__(self, mode: UsageMode = "auto") -> None:
        self._mode: UsageMode = mode
        self._reports: list[UsageReport] = []

    @property
    def has_reports(self) -> bool:
        """Whether anything has been reported."""
        return bool(self._reports)

    def report(self, report: UsageReport) -> None:
        """Take a report."""
        self._reports.append(report)

    def usage(self, text: str) -> Usage:
        """Return the usage of the whole answer.

        Args:
            text: Everything the model wrote, arguments of calls too: the measure where
                the numbers alone leave it open.
        """
        reports = self._reports
        # A prompt does not grow while the answer streams.
        prompt = max((each.prompt_tokens or 0 for each in reports), default=0) or None
        cache_read = _largest([each.cache_read_tokens for each in reports])
        cache_write = _largest([each.cache_write_tokens for each in reports])
        cached = (cache_read or 0) + (cache_write or 0)
        counted = [each for each in reports if each.output_tokens]
        summed, basis, sure = _decide(self._mode, counted, text)
        output = _fold([each.output_tokens for each in counted], summed=summed)
        return Usage(
            # Where the cache is larger than the prompt, it was no part of it.
            input_tokens=prompt - cached if prompt and cached <= prompt else prompt,
            cache_read_tokens=cache_read,
            cache_write_tokens=cache_write,
            output_tokens=output,
            reasoning_tokens=_fold(
                [each.reasoning_tokens for each in reports], summed=summed
            ),
            reported_total_tokens=_total(
                [each.total_tokens for each in reports if each.total_tokens],
                at_least=(prompt or 0) + (output or 0),
                summed=summed,
            ),
            requests=1,
            basis=basis if output else "last" if prompt else None,
            sure=sure and output is not None and prompt is not None,
        )


def _decide(
    mode: UsageMode, reports: list[UsageReport], text: str
) -> tuple[bool, UsageBasis, bool]:
    """Whether to sum or to take the last, on which basis, and whether that is sure."""
    if mode != "auto":
        return mode == "incremental", "declared", True
    counts = [each.output_tokens or 0 for each in reports]
    if len(counts) < 2:
        return False, "last", True
    last, total = counts[-1], sum(counts)
    pairs = list(pairwise(counts))
    if len(counts) > 2 and not reports[-1].with_text and last == total - last:
        return False, "last", True  # a closing total
    if any(later < earlier for earlier, later in pairs):
        return True, "summed", True  # a running total never falls
    prompts = {each.prompt_tokens or 0 for each in reports}
    if len(prompts) == 1 and prompts != {0}:
        return False, "last", True  # snapshots restate the prompt
    expected = _estimate(text)
    if all(earlier < later for earlier, later in pairs):
        summed = (
            3 <= len(counts) <= 5
            and last < expected / 2
            and _is_near(total, expected, factor=2)
        )
        if summed:
            return True, "summed", False
    elif not expected:
        return True, "summed", False
    else:
        summed = abs(log(total / expected)) < abs(log(last / expected))
    sure = total >= 2 * last and _is_near(total if summed else last, expected, factor=3)
    return summed, "summed" if summed else "last", sure


def _estimate(text: str) -> float:
    """Tokens of a text; only the order of magnitude matters."""
    wide = len(_WIDE.findall(text))
    return (len(text) - wide) / 4 + wide * 0.75


def _is_near(count: int, expected: float, *, factor: float) -> bool:
    return expected > 0 and 1 / factor <= count / expected <= factor


def _fold(counts: list[int | None], *, summed: bool) -> int | None:
    known = [count for count in counts if count is not None]
    if not known:
        return None
    return sum(known) if summed else next((n for n in reversed(known) if n), 0)


def _largest(counts: list[int | None]) -> int | None:
    return max((count for count in counts if count is not None), default=None)


def _total(totals: list[int | None], *, at_least: int, summed: bool) -> int | None:
    """The provider's total, unless it is one of several increments, or too small."""
    last = totals[-1] if totals else None
    if last is None or last < at_least or (summed and len(totals) > 1):
        return None
    return last
