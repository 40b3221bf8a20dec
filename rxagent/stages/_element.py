"""Texts of others, as elements of a prompt that they cannot end."""

from __future__ import annotations

import re

from rxagent.stages._legible import UNSEEN, escaped

__all__ = ["element", "inert"]


def element(name: str, text: str, *, attributes: str = "") -> str:
    """Write a text as an element.

    Args:
        name: Of the element.
        text: Anything.
        attributes: As they stand in the tag.

    Returns:
        Three lines or more.  Of the text nothing is changed but what looks like a tag
        of this name: it is code or prose, and an escape in it costs meaning.
    """
    opened = f"{name} {attributes}" if attributes else name
    return f"<{opened}>\n{inert(name, text)}\n</{name}>"


def inert(name: str, text: str) -> str:
    """Return a text in which no tag of an element stands.

    Args:
        name: Of the element, in ASCII.
        text: Anything.  Tags that only look like one of the element are found as well:
            with what is not seen in them, or with wide letters.
    """
    letters = f"{UNSEEN}*".join(map(re.escape, name))
    gap = rf"[\s{UNSEEN}]*"
    tag = re.compile(rf"<{gap}(?:/{gap})?{letters}(?!\w)", re.IGNORECASE)
    return escaped(text, tag, "&lt;", of=1)
