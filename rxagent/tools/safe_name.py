"""Names of tools that every provider takes."""

from __future__ import annotations

import hashlib
import re

from rxagent.errors import ConfigurationError

__all__ = ["check_name", "safe_name"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]", re.ASCII)
_NAME_CHARS = 64
_DIGEST_CHARS = 8


def check_name(name: str) -> None:
    """Refuse a name that some provider refuses.

    Raises:
        ConfigurationError: If it is not 1 to 64 letters, digits, ``_`` or ``-``.
    """
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"tool name {name!r}: providers take 1 to 64 letters, digits, '_' and '-'; "
            "give another one with name="
        )


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
