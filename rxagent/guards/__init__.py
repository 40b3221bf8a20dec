"""Guards: what happens to the text of an answer before it is delivered."""

from rxagent.guards._event_guard import EventGuard
from rxagent.guards._guard import guard
from rxagent.guards._text_guard import Channel, TextGuard

__all__ = ["Channel", "EventGuard", "TextGuard", "guard"]
