"""Where OpenAI-compatible servers put their token counts."""

from __future__ import annotations

from rxagent.wire.json_text import is_array, is_object
from rxagent.wire.usage import UsageReport

__all__ = ["usage_report"]


def usage_report(chunk: dict[str, object], *, with_text: bool) -> UsageReport | None:
    """Read the report of a chunk, if it has one.

    Args:
        chunk: A chunk or a whole completion.
        with_text: Whether text or arguments came with it.
    """
    usage = chunk.get("usage") or _elsewhere(chunk)
    if not is_object(usage):
        return None
    prompt = _details(usage, "prompt_tokens_details")
    output = _details(usage, "completion_tokens_details")
    return UsageReport(
        prompt_tokens=_count(usage, "prompt_tokens"),
        # OpenAI's place, then Moonshot's, then DeepSeek's.
        cache_read_tokens=_first(
            _count(prompt, "cached_tokens"),
            _count(usage, "cached_tokens"),
            _count(usage, "prompt_cache_hit_tokens"),
        ),
        cache_write_tokens=_count(prompt, "cache_write_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
        reasoning_tokens=_first(
            _count(output, "reasoning_tokens"), _count(usage, "reasoning_tokens")
        ),
        total_tokens=_count(usage, "total_tokens"),
        with_text=with_text,
    )


def _elsewhere(chunk: dict[str, object]) -> object:
    """Groq has an object of its own for it, Moonshot puts it into the choice."""
    if is_object(groq := chunk.get("x_groq")):
        return groq.get("usage")
    choices = chunk.get("choices")
    if is_array(choices) and choices and is_object(choice := choices[0]):
        return choice.get("usage")
    return None


def _details(usage: dict[str, object], name: str) -> dict[str, object]:
    details = usage.get(name)
    return details if is_object(details) else {}


def _count(numbers: dict[str, object], name: str) -> int | None:
    count = numbers.get(name)
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        return None
    return count


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)
