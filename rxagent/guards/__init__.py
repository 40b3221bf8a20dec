"""Guards: what happens to the text of an answer before it is delivered."""

from typing import TYPE_CHECKING

from rxagent.lazily import lazily

if TYPE_CHECKING:
    from rxagent.guards._ask import ask
    from rxagent.guards._block import block
    from rxagent.guards._by_chars import by_chars
    from rxagent.guards._by_line import by_line
    from rxagent.guards._by_paragraph import by_paragraph
    from rxagent.guards._by_sentence import by_sentence
    from rxagent.guards._by_tokens import by_tokens
    from rxagent.guards._cap_chars import cap_chars
    from rxagent.guards._cap_tokens import cap_tokens
    from rxagent.guards._event_guard import EventGuard
    from rxagent.guards._guard import guard
    from rxagent.guards._hold_release import hold_release
    from rxagent.guards._json_only import json_only
    from rxagent.guards._match import Match
    from rxagent.guards._moderate import moderate
    from rxagent.guards._pattern import Pattern
    from rxagent.guards._redact import redact
    from rxagent.guards._seconds import Seconds
    from rxagent.guards._smooth import smooth
    from rxagent.guards._stop_on import stop_on
    from rxagent.guards._text_guard import Channel, TextGuard
    from rxagent.guards._think_tags import think_tags

__all__ = [
    "Channel",
    "EventGuard",
    "Match",
    "Pattern",
    "Seconds",
    "TextGuard",
    "ask",
    "block",
    "by_chars",
    "by_line",
    "by_paragraph",
    "by_sentence",
    "by_tokens",
    "cap_chars",
    "cap_tokens",
    "guard",
    "hold_release",
    "json_only",
    "moderate",
    "redact",
    "smooth",
    "stop_on",
    "think_tags",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "_ask": ["ask"],
            "_block": ["block"],
            "_by_chars": ["by_chars"],
            "_by_line": ["by_line"],
            "_by_paragraph": ["by_paragraph"],
            "_by_sentence": ["by_sentence"],
            "_by_tokens": ["by_tokens"],
            "_cap_chars": ["cap_chars"],
            "_cap_tokens": ["cap_tokens"],
            "_event_guard": ["EventGuard"],
            "_guard": ["guard"],
            "_hold_release": ["hold_release"],
            "_json_only": ["json_only"],
            "_match": ["Match"],
            "_moderate": ["moderate"],
            "_pattern": ["Pattern"],
            "_redact": ["redact"],
            "_seconds": ["Seconds"],
            "_smooth": ["smooth"],
            "_stop_on": ["stop_on"],
            "_text_guard": ["Channel", "TextGuard"],
            "_think_tags": ["think_tags"],
        },
    )
