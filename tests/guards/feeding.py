"""Feeding text guards."""

from __future__ import annotations

from collections.abc import Sequence

from rxagent.guards import TextGuard
from rxagent.testing import every_cut

__all__ = ["fed", "fed_anyhow", "held_after"]


def fed(guard: TextGuard, pieces: Sequence[str]) -> list[str]:
    """What leaves, piece by piece."""
    transducer = guard()
    out = [each for piece in pieces for each in transducer.feed(piece)]
    return [*out, *transducer.flush()]


def fed_anyhow(guard: TextGuard, text: str) -> list[str]:
    """What leaves, which must not depend on how ``text`` is cut."""
    expected = fed(guard, [text])
    for pieces in every_cut(text):
        assert fed(guard, pieces) == expected, f"cut into {pieces}"
    return expected


def held_after(guard: TextGuard, pieces: Sequence[str]) -> int:
    """What a guard says that it holds, which must be what has not left."""
    transducer = guard()
    out = "".join(each for piece in pieces for each in transducer.feed(piece))
    held: object = getattr(transducer, "held", None)
    assert isinstance(held, int)
    left = "".join((out, *transducer.flush()))
    assert not left.startswith("".join(pieces)) or held == len(left) - len(out)
    return held
