"""Reasoning that a model writes into its answer, between think tags."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["ThinkTagPiece", "ThinkTagSplitter"]

ThinkTagPiece: TypeAlias = tuple[Literal["text", "reasoning"], str]

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkTagSplitter:
    """Tell text from reasoning, wherever the tags are cut.

    No piece of a tag gets out, nor does the blank space behind a closing one.  What
    could be the start of a tag waits for the next piece.

    Args:
        starts_in_thinking: Whether the prompt has opened the first block already.
    """

    __slots__ = ("_inside", "_skip_space", "held")

    def __init__(self, *, starts_in_thinking: bool) -> None:
        self._inside = starts_in_thinking
        self.held = ""  # what may be the start of a tag
        self._skip_space = False

    def feed(self, piece: str) -> list[ThinkTagPiece]:
        """Take a piece of the answer; return what is ready of it."""
        text = self.held + piece
        ready: list[ThinkTagPiece] = []
        while True:
            tag = _CLOSE if self._inside else _OPEN
            before, found, after = text.partition(tag)
            if not found:
                break
            self._pass(before, ready)
            self._skip_space = self._inside
            self._inside = not self._inside
            text = after
        cut = len(text) - _overlap(text, tag)
        self.held = text[cut:]
        self._pass(text[:cut], ready)
        return ready

    def flush(self) -> list[ThinkTagPiece]:
        """Return what waited; it was no tag after all."""
        ready: list[ThinkTagPiece] = []
        self._pass(self.held, ready)
        self.held = ""
        return ready

    def _pass(self, text: str, ready: list[ThinkTagPiece]) -> None:
        if self._skip_space:
            text = text.lstrip()
            self._skip_space = not text
        if text:
            ready.append(("reasoning" if self._inside else "text", text))


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of ``text`` may be the start of ``tag``."""
    lengths = range(min(len(tag) - 1, len(text)), 0, -1)
    return next((n for n in lengths if text.endswith(tag[:n])), 0)
