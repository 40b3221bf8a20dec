"""Packages that import what they show when it is asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping

__all__ = ["lazily"]


def lazily(
    package: str, modules: Mapping[str, Iterable[str]]
) -> Callable[[str], object]:
    """Make the ``__getattr__`` of a package.

    A program uses a few names of a catalogue, and each takes its time to import.  For
    type checkers the same names are imported under ``TYPE_CHECKING``.

    Args:
        package: Its name.
        modules: The names that each of its modules brings.

    Source: https://peps.python.org/pep-0562/
    """
    places = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> object:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(f"{package}.{places[name]}")
        value: object = getattr(module, name)
        setattr(sys.modules[package], name, value)  # the next time it is there
        return value

    return find
