"""Arguments in the user's own words, for models that paraphrase."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from rxagent.requests import JsonSchema
from rxagent.wire.json_text import is_array, is_object

__all__ = ["quoted"]

Json: TypeAlias = Mapping[str, object]

_LONGEST = 12  # words of an argument
_MOST = 80  # words that are looked at, from the end
_SPECIAL = re.compile(r"[\^$.|?*+()\[\]{}]")
_WORD = re.compile(r"""(?P<lead>['"‘“«]*)(?P<core>.*?)(?P<trail>['"’”».,;:!?]*)""")
_CONSTRAINTS = frozenset({"enum", "const", "format", "pattern", "anyOf", "$ref"})


def quoted(schema: JsonSchema, text: str) -> JsonSchema:
    """Hold string arguments to words of ``text``, one behind the other.

    An optional argument stays only if the text hints at it: by its name, by one of its
    values, or, for numbers, by a number.  Strings that the schema holds to something
    already, such as an ``enum``, and what is nested stay as they are.

    Args:
        schema: Of a tool's arguments.
        text: What the user said.

    Returns:
        A narrower schema; what fits it fits ``schema`` too.
    """
    properties, required = schema.get("properties"), schema.get("required")
    pattern = _pattern(text)
    if not is_object(properties) or pattern is None:
        return schema
    needed = required if is_array(required) else []
    kept = {
        name: each
        for name, each in properties.items()
        if name in needed or (is_object(each) and _is_hinted(name, each, text))
    }
    held = {
        name: {**each, "pattern": pattern} if _is_free_string(each) else each
        for name, each in kept.items()
        if is_object(each)
    }
    return {**schema, "properties": {**kept, **held}}


def _is_free_string(schema: Json) -> bool:
    return schema.get("type") == "string" and not _CONSTRAINTS & schema.keys()


def _is_hinted(name: str, schema: Json, text: str) -> bool:
    values = schema.get("enum")
    hints = [name.replace("_", " "), *(values if is_array(values) else ())]
    if schema.get("type") in ("integer", "number") and re.search(r"\d", text):
        return True
    return any(str(hint).casefold() in text.casefold() for hint in hints)


def _pattern(text: str) -> str | None:
    """A regular expression for every run of words, without the marks around it."""
    runs = [*_runs(text.split()[-_MOST:])]
    return f"^({'|'.join(runs)})$" if runs else None


def _runs(words: list[str]) -> Iterator[str]:
    parts = [match.groups() for word in words if (match := _WORD.fullmatch(word))]
    for start, (_, core, _) in enumerate(parts):
        if not core or _breaks(core):
            continue
        run, opened = _escaped(core), 0
        trail = parts[start][2]
        for lead, following, after in parts[start + 1 : start + _LONGEST]:
            between = f"{trail} {lead}{following}"
            if not following or _breaks(between):
                break
            run += f"({_escaped(between)}"
            opened += 1
            trail = after
        yield run + ")?" * opened


def _breaks(text: str) -> bool:
    """Whether JSON would have to escape it, which a grammar of text cannot say."""
    return any(char in '"\\' or char < " " for char in text)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", text)
