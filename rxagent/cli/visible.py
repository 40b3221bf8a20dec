"""Text of others, on a screen of ours."""

from __future__ import annotations

import re

__all__ = ["visible"]

# C0 but for newline and tab, delete, C1, and what turns the direction of a line.
_STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Write out the characters that would steer a terminal, as Python does.

    What a model or a tool says may name a window, fill the clipboard or paint over what
    stands above; ``ESC`` comes out as ``\x1b``.  Each character stands for itself, so
    it does not matter where a text is cut.

    Args:
        text: From wherever.

    Returns:
        The text; its newlines and tabs stay.

    Source: ECMA-48, and UAX #9 of Unicode.
    """
    return _STEERS.sub(_written, text)


def _written(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()
