"""Results of tools where a format has no place for what went wrong."""

from __future__ import annotations

from rxagent.messages import Text, ToolMessage, UserPart

__all__ = ["ERROR_MARK", "told_content", "told_text"]

ERROR_MARK = "Error: "
"""In front of a result that is an error, and does not say so."""


def told_text(message: ToolMessage) -> str:
    """Return the text of a result, which says of itself whether it is an error.

    Args:
        message: An error whose text does not begin with the word gets it in front.
    """
    return _mark(message) + message.text


def told_content(message: ToolMessage) -> tuple[UserPart, ...]:
    """Return the parts of a result, which say whether it is an error.

    Args:
        message: An error whose text does not begin with the word gets it in front.
    """
    mark = _mark(message)
    return (Text(text=mark), *message.content) if mark else message.content


def _mark(message: ToolMessage) -> str:
    says_so = message.text.lstrip().lower().startswith("error")
    return ERROR_MARK if message.is_error and not says_so else ""
