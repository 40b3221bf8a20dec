"""Guards: what happens to the text of an answer before it is delivered."""

from rxagent.guards._by_line import by_line
from rxagent.guards._by_paragraph import by_paragraph
from rxagent.guards._by_sentence import by_sentence
from rxagent.guards._cap_chars import cap_chars
from rxagent.guards._cap_tokens import cap_tokens
from rxagent.guards._event_guard import EventGuard
from rxagent.guards._guard import guard
from rxagent.guards._json_only import json_only
from rxagent.guards._stop_on import stop_on
from rxagent.guards._text_guard import Channel, TextGuard

__all__ = [
    "Channel",
    "EventGuard",
    "TextGuard",
    "by_line",
    "by_paragraph",
    "by_sentence",
    "cap_chars",
    "cap_tokens",
    "guard",
    "json_only",
    "stop_on",
]
