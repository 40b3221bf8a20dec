"""Token usage: what was counted, on which basis, and whether that is sure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Usage", "UsageBasis"]

UsageBasis: TypeAlias = Literal["declared", "last", "summed", "estimated"]
"""How a total was found, most to least trusted: the provider declares what its
numbers mean; its last report was taken; its reports were summed; it was estimated."""

_BY_TRUST: tuple[UsageBasis, ...] = ("declared", "last", "summed", "estimated")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more model requests.  Unknown is ``None``, never 0.

    Args:
        input_tokens: Prompt tokens that came from no cache.
        cache_read_tokens: Prompt tokens read from the provider's cache.
        cache_write_tokens: Prompt tokens written to the provider's cache.
        output_tokens: Tokens of the answer, reasoning included.
        reasoning_tokens: The part of ``output_tokens`` that was reasoning.
        reported_total_tokens: The provider's own grand total.
        requests: Model requests that these numbers cover.
        basis: How the numbers were found.
        sure: False if a number is missing or was decided on weak evidence.
    """

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    reported_total_tokens: int | None = None
    requests: int = 0
    basis: UsageBasis | None = None
    sure: bool = True

    @property
    def prompt_tokens(self) -> int | None:
        """The whole prompt: uncached, read from cache and written to cache."""
        return _sum(
            _sum(self.input_tokens, self.cache_read_tokens), self.cache_write_tokens
        )

    @property
    def total_tokens(self) -> int | None:
        """The provider's total, or prompt plus output."""
        if self.reported_total_tokens is not None:
            return self.reported_total_tokens
        return _sum(self.prompt_tokens, self.output_tokens)

    def __add__(self, other: Usage) -> Usage:
        """Add field by field; an unknown number adds nothing."""
        return Usage(
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            cache_read_tokens=_sum(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens=_sum(self.cache_write_tokens, other.cache_write_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
            reasoning_tokens=_sum(self.reasoning_tokens, other.reasoning_tokens),
            # As a property, so that a round without a total still counts.
            reported_total_tokens=_sum(self.total_tokens, other.total_tokens),
            requests=self.requests + other.requests,
            basis=_weaker(self.basis, other.basis),
            sure=self.sure and other.sure,
        )


def _sum(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other


def _weaker(one: UsageBasis | None, other: UsageBasis | None) -> UsageBasis | None:
    if one is None or other is None:
        return other if one is None else one
    return _BY_TRUST[max(_BY_TRUST.index(one), _BY_TRUST.index(other))]
