"""A text guard that says its name and its settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rxagent.types import Transducer

__all__ = ["NamedGuard"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NamedGuard:
    """A text guard that says its name and its settings.

    Args:
        name: Of the public function that made it.
        make: Makes a fresh transducer.
        settings: What it was made with, in words; no secrets.
    """

    name: str
    make: Callable[[], Transducer[str, str]]
    settings: str = ""

    def __call__(self) -> Transducer[str, str]:
        """Make a transducer for one text."""
        return self.make()

    def __repr__(self) -> str:
        return f"{self.name}({self.settings})"
