"""Names of tools that come from elsewhere."""

from __future__ import annotations

import hashlib
import re

__all__ = ["safe_name"]

_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]", re.ASCII)
_NAME_CHARS = 64
_DIGEST_CHARS = 8


def safe_name(name: str) -> str:
    """Return a name like ``name`` that every provider takes.

    What is not allowed becomes ``_``.  A long name is cut, with a digest at its end, so
    that two that differ late stay two.

    Args:
        name: In the words of somebody else; not empty.
    """
    safe = _NOT_IN_NAME.sub("_", name)
    if len(safe) <= _NAME_CHARS:
        return safe
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST_CHARS]
    return f"{safe[: _NAME_CHARS - _DIGEST_CHARS - 1]}_{digest}"
