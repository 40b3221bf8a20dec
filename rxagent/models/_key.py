"""Where a model finds its key."""

from __future__ import annotations

import os

from rxagent.errors import ConfigurationError


def find_key(given: str | None, *variables: str) -> str:
    """Return a key without the blanks around it, or nothing.

    Args:
        given: The caller's; an empty one is none, and no variable is looked at.
        variables: Of the environment; the first that is set counts.

    Raises:
        ConfigurationError: If it cannot be a key.  It is not shown.
    """
    key = given
    if key is None:
        key = next(filter(None, map(os.environ.get, variables)), "")
    key = key.strip()  # a file that it came from ends in a newline
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigurationError(
            "the API key holds a character that no key has, such as a blank or a "
            "quote that is not ASCII; copy it again"
        )
    return key
