"""What the package logs, as lines for a person."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

from rxagent.cli.visible import visible

__all__ = ["log_lines"]


@contextmanager
def log_lines(notes: TextIO) -> Generator[None]:
    """Write what the package logs, such as the loading of a model, as plain lines.

    Args:
        notes: Takes the lines, for as long as the block runs.
    """
    logger = logging.getLogger("rxagent")
    handler = logging.StreamHandler(notes)
    level = logger.level
    handler.setFormatter(_Visible())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


class _Visible(logging.Formatter):
    """What is logged may quote a provider or a tool."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))
