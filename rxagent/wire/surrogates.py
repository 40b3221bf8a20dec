"""Halves of surrogate pairs, which servers cut in two and UTF-8 cannot say."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["SurrogateJoiner", "join_surrogates"]

K = TypeVar("K", bound=Hashable)


def join_surrogates(text: str) -> str:
    """Return ``text`` with pairs made one character and lone halves made U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class SurrogateJoiner(Generic[K]):
    """Join pairs that are cut across the pieces of a text.

    A high half at the end of a piece waits for the next piece of its channel.
    """

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[K, str] = {}

    def feed(self, channel: K, piece: str) -> str:
        """Take the next piece of a channel; return what is ready of it."""
        text = self._held.pop(channel, "") + piece
        if "\ud800" <= text[-1:] <= "\udbff":
            self._held[channel] = text[-1]
            text = text[:-1]
        return join_surrogates(text)

    def flush(self) -> list[tuple[K, str]]:
        """Return U+FFFD for each channel whose low half never came."""
        waiting = [(channel, "\ufffd") for channel in self._held]
        self._held = {}
        return waiting
