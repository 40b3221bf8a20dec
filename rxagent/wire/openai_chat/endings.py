"""Why an answer has ended, in the words of the many servers of chat completions."""

from __future__ import annotations

from rxagent.errors import MalformedResponseError
from rxagent.responses import FinishReason
from rxagent.wire.provider_errors import error_of_end

__all__ = ["ending"]

_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "complete": "stop",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "length": "length",
    "model_length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "refusal": "refusal",
}
_BAD_CALL = "function_call_filter"  # Gemini's compatible endpoint, of a malformed call


def ending(word: str | None, *, provider: str) -> FinishReason:
    """Return what the server's word means.

    Args:
        word: What stands before a colon counts: Gemini says what filtered behind it.
        provider: Named in errors.

    Returns:
        ``"unknown"`` for no word, and for one that nobody has told us.

    Raises:
        ModelError: If the generation broke off, so that there is no whole answer.
    """
    if error := error_of_end(provider, word):
        raise error
    first, _, rest = (word or "").lower().partition(":")
    if first == _BAD_CALL:
        raise MalformedResponseError(
            f"{provider} gave up on the answer ({rest.strip() or first}); ask again",
            provider=provider,
            code=word,
            retryable=True,
        )
    return _FINISH_REASONS.get(first, "unknown")
