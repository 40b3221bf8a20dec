"""Answers as values: operators from the events of a turn to what it says."""

from rxagent.entities._elements import elements
from rxagent.entities._entity import entity
from rxagent.entities._fields import fields
from rxagent.entities._partials import Partial, partials
from rxagent.entities.asking import asking_for

__all__ = [
    "Partial",
    "asking_for",
    "elements",
    "entity",
    "fields",
    "partials",
]
