"""``--memory``: the file in which conversations are kept."""

from __future__ import annotations

import argparse
import os

from rxagent.errors import ConfigurationError
from rxagent.memory import SqliteStore

__all__ = ["add_memory_argument", "store_at"]


def add_memory_argument(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Declare ``--memory``."""
    parser.add_argument(
        "--memory",
        required=required,
        metavar="FILE",
        help="where conversations are kept: an SQLite file, which a chat or an import "
        "makes if need be",
    )


def store_at(path: str, *, make: bool) -> SqliteStore:
    """Open the file of ``--memory``.

    Args:
        path: What was given.
        make: Whether the file is made, readable for its owner alone.

    Returns:
        The store, to be closed.

    Raises:
        ConfigurationError: If the file is not there, or cannot be made.
    """
    try:
        os.close(os.open(path, os.O_RDONLY | (os.O_CREAT if make else 0), 0o600))
    except FileNotFoundError:
        which = "its folder" if make else "the file"
        raise ConfigurationError(
            f"cannot open --memory {path}: {which} is not there"
        ) from None
    except OSError as error:
        raise ConfigurationError(
            f"cannot open --memory {path}: {error.strerror}"
        ) from None
    return SqliteStore(path)
