"""Lines of a file or of stdin."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rxagent.errors import ConfigurationError, RequestError

__all__ = ["read_lines"]


def read_lines(path: str | None, *, otherwise: str) -> Iterator[bytes]:
    """Read a file line by line, or what is piped in.

    Args:
        path: Of the file; ``-`` or ``None`` is stdin.
        otherwise: What to say if nobody pipes anything in.

    Raises:
        ConfigurationError: If the file cannot be read.
        RequestError: If there is nothing to read.
    """
    if path is not None and path != "-":
        try:
            with open(path, "rb") as file:
                yield from file
        except OSError as error:
            raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
        return
    # Python sets a closed stream to None, which typeshed does not say.
    stdin = sys.stdin or None
    if stdin is None or (path is None and stdin.isatty()):
        raise RequestError(otherwise)
    yield from stdin.buffer
