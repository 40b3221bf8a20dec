"""Answers as values: operators from the events of a turn to what it says."""

from rxagent.entities._elements import elements
from rxagent.entities._entity import entity
from rxagent.entities._fields import fields
from rxagent.entities._partial import Partial
from rxagent.entities._partials import partials

__all__ = [
    "Partial",
    "elements",
    "entity",
    "fields",
    "partials",
]
