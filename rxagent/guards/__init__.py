"""Guards: what happens to the text of an answer before it is delivered."""

from rxagent.guards._block import block
from rxagent.guards._event_guard import EventGuard
from rxagent.guards._guard import guard
from rxagent.guards._match import Match
from rxagent.guards._pattern import Pattern
from rxagent.guards._redact import redact
from rxagent.guards._text_guard import Channel, TextGuard

__all__ = [
    "Channel",
    "EventGuard",
    "Match",
    "Pattern",
    "TextGuard",
    "block",
    "guard",
    "redact",
]
