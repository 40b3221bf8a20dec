"""Text that waits, piece by piece."""

from __future__ import annotations

__all__ = ["HeldText"]


class HeldText:
    """Pieces that leave as one.  Adding one costs the same, however many there are."""

    __slots__ = ("_pieces", "length")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self.length = 0  # in characters

    def add(self, piece: str) -> None:
        """Hold a piece behind the others."""
        if piece:
            self._pieces.append(piece)
            self.length += len(piece)

    def take(self) -> tuple[str, ...]:
        """Return all that is held, as one piece; none if there is nothing."""
        text = "".join(self._pieces)
        self._pieces, self.length = [], 0
        return (text,) if text else ()
