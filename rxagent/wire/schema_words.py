"""What a provider's part of JSON Schema cannot say, in words for the model."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from rxagent.wire.json_text import dump_json

__all__ = ["can_say", "with_words"]

# No grammar can look around or back; nor can it see where a word ends.
_BEYOND_GRAMMARS = re.compile(r"\(\?[=!<]|\\[bB1-9]")


def can_say(word: str, value: object, *, formats: Container[object]) -> bool:
    """Whether a provider takes a format or a pattern; other words are taken.

    Args:
        word: Of a schema.
        value: What it says.
        formats: Those that the provider knows; it refuses others.
    """
    if word == "pattern":
        return not _BEYOND_GRAMMARS.search(str(value))
    return word != "format" or value in formats


def with_words(
    schema: dict[str, object], words: Mapping[str, object]
) -> dict[str, object]:
    """Say what is left out of a schema in its description, where the model reads it.

    Args:
        schema: Without these words.
        words: By name.
    """
    if not words:
        return schema
    about = schema.get("description")
    told = f"{about} " if isinstance(about, str) and about else ""
    limits = ", ".join(f"{k}: {dump_json(v).decode()}" for k, v in words.items())
    return {**schema, "description": f"{told}({limits})"}
