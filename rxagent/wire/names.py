"""Names of tools that every server takes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rxagent.errors import RequestError
from rxagent.requests import ToolSpec

__all__ = ["check_names", "wire_name"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]", re.ASCII)


def check_names(tools: Iterable[ToolSpec]) -> None:
    """Check the names of tools that a model may call.

    Raises:
        RequestError: If one cannot be sent.
    """
    for tool in tools:
        if not _NAME.fullmatch(tool.name):
            raise RequestError(
                f"the tool name {tool.name!r} cannot be sent; use 1 to 64 letters, "
                "digits, '_' and '-'"
            )


def wire_name(name: str) -> str:
    """A name like ``name``, which a model may have dreamed up, that servers take."""
    return _NOT_IN_NAME.sub("_", name)[:64] or "unnamed"
