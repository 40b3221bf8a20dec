"""A tool that exists and may not be called now."""

from __future__ import annotations

from dataclasses import dataclass

from rxagent.requests import ToolSpec

__all__ = ["Withheld"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld(ToolSpec):
    """A tool that a model was not offered, though it is there.

    Args:
        name: As the model writes it.
        description: What it does.
        parameters: JSON Schema of an object.
        instead: What a model that calls it anyway is told to do.
    """

    instead: str
