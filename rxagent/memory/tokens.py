"""How long a message is for a model, near enough to cut a conversation by."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from rxagent.messages import (
    Message,
    Opaque,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
)

__all__ = ["CountTokens", "estimate_tokens"]

CountTokens: TypeAlias = Callable[[Message], int]
"""How many tokens a message takes."""

_CHARS_PER_TOKEN = 4  # of European languages, and of code
_PER_MESSAGE = 4  # its role and its borders
_PER_MEDIUM = 1_000  # about a picture; no text says how long a file is

# Chinese, Japanese, Korean, with their signs and full-width forms: a token a letter.
_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)


def estimate_tokens(message: Message) -> int:
    """Estimate the tokens of a message, without the tables of any model.

    Four letters are a token, and so is each letter of Chinese, Japanese or Korean.  For
    English it is right within a fifth or so; a model's own count is a function of the
    same kind.

    Args:
        message: Of any role.

    Returns:
        Tokens, rounded up; a picture, a sound or a file counts 1,000.
    """
    tokens = _PER_MESSAGE
    for part in message.content:
        match part:
            case Text() | Reasoning() | Refusal():
                tokens += _of_text(part.text)
            case ToolCall():
                tokens += _of_text(part.name + part.arguments)
            case Opaque():
                tokens += _of_text(part.data)
            case _:  # a picture, a sound or a file
                tokens += _PER_MEDIUM
    return tokens


def _of_text(text: str) -> int:
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + -(-(len(text) - wide) // _CHARS_PER_TOKEN)
