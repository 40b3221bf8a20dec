from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

__all__ = ["with_room"]

T = TypeVar("T")

_SLOTS = 32_768  # of 8 bytes; the block is twice that, and untouched pages cost nothing


def with_room(function: Callable[[], T]) -> T:
    """Call ``function`` where the calls that it makes fit into one block of frames.

    CPython keeps call frames in blocks of 16 KiB, and gives a block back as soon as the
    call that opened it returns.  A chain that stands just before the border of one
    would take and return a block for each event, which costs ten times as much as the
    event.  This function's own frame is so large that it gets a block of its own, with
    room behind it for a thousand calls.

    Args:
        function: Runs once, now.

    Returns:
        What it returns.

    Source: python/cpython#142183.
    """
    return function()


if sys.implementation.name == "cpython":
    with_room.__code__ = with_room.__code__.replace(co_stacksize=_SLOTS)
