"""How answers of Gemini end, in its words."""

from __future__ import annotations

from rxagent.errors import (
    BadRequestError,
    MalformedResponseError,
    ModelError,
    ProviderStreamError,
)
from rxagent.responses import FinishReason

__all__ = ["FAILURES", "FINISH_REASONS"]

FINISH_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    # Reasons to block a prompt are among them.
    **dict.fromkeys(
        (
            "BLOCKED_REASON_UNSPECIFIED",
            "BLOCKLIST",
            "ESCALATION",
            "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION",
            "IMAGE_SAFETY",
            "JAILBREAK",
            "LANGUAGE",
            "MODEL_ARMOR",
            "PROHIBITED_CONTENT",
            "PUP_LIMITED_DISABLED",
            "RECITATION",
            "SAFETY",
            "SPII",
        ),
        "content_filter",
    ),
}
FAILURES: dict[str, tuple[type[ModelError], bool, str]] = {
    "MALFORMED_FUNCTION_CALL": (MalformedResponseError, True, "ask again"),
    "MALFORMED_RESPONSE": (MalformedResponseError, True, "ask again"),
    "TOO_MANY_TOOL_CALLS": (
        ProviderStreamError,
        True,
        "ask again, or for less at a time",
    ),
    "UNEXPECTED_TOOL_CALL": (
        MalformedResponseError,
        True,
        "ask again, or declare the tool that the messages speak of",
    ),
    "MISSING_THOUGHT_SIGNATURE": (
        BadRequestError,
        False,
        "send the parts behind the calls of the history too",
    ),
}
"""Not how an answer ends, but that there is none."""
