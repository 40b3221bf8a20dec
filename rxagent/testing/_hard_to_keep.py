"""What a store may well get wrong: messages of every kind, and ids that look odd."""

from __future__ import annotations

from dataclasses import replace

from rxagent.messages import (
    AssistantMessage,
    Audio,
    File,
    Image,
    Message,
    Opaque,
    Reasoning,
    Refusal,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

__all__ = ["EVERY_KIND", "HALF_PAIRS", "NO_IDS", "STRANGE_IDS"]

_CALL = ToolCall(id="call-1", name="weather", arguments='{"city": "Zürich"}')

EVERY_KIND: tuple[Message, ...] = (
    SystemMessage.of("Be brief.\r\n\tQuote 'this' and \"that\" and \\ that. \0 \u2028"),
    replace(UserMessage.of("Grüezi \U0001f468\u200d\U0001f469"), mark="pinned"),
    UserMessage.of(
        "See, hear and read:",
        Image(data=bytes(range(256)) * 1000),
        Image(url="https://host/a.png"),
        Audio(data=b"\xff\xfe\x00"),
        File(data=b"", name="ein Blatt.pdf"),
    ),
    AssistantMessage.of(
        Reasoning(text="hm", signature="c2ln+/=", dialect="anthropic"),
        "I look it up.",
        Opaque(dialect="gemini", data='{"b": 1.50, "a": [null]}'),
        _CALL,
        ToolCall(id="call-2", name="cut", arguments='{"a": ', truncated=True),
    ),
    ToolMessage.of("12 °C", Image(data=b"\x89PNG"), call=_CALL),
    ToolMessage.of("no such tool", call=_CALL, is_error=True),
    replace(AssistantMessage.of(Refusal(text="I cannot.")), mark="interrupted"),
    replace(AssistantMessage.of(""), mark="summary"),
    UserMessage(content=()),
)
"""Every kind of message, part and mark; one is larger than 64 KiB."""

HALF_PAIRS: tuple[Message, ...] = (
    UserMessage.of("a\ud800"),
    AssistantMessage.of("\ud83d\ude00", ToolCall(id="i", name="f", arguments="\udc00")),
)
"""Halves of surrogate pairs, as servers send them."""

STRANGE_IDS = (
    " ",
    "%",
    "'; DROP TABLE conversations; --",
    "*[a-c]?{x}:\\",
    "0",
    "A",
    "a",
    "a ",
    "a\n",
    "a/../b",
    "e\u0301",
    "z" * 150,
    "\xe9",
    "\u4f60\u597d",
    "\uff21",
    "\U0001f468",
)
"""All different, though some of them are alike to a database that folds or pads."""

NO_IDS = ("", "a\0b", "a\ud800")
"""What not every store could keep, so that none takes it."""
