"""The part of JSON Schema that llama.cpp makes a grammar of."""

from __future__ import annotations

import re

from rxagent.requests import JsonSchema
from rxagent.wire.json_text import is_array, is_object
from rxagent.wire.schema_words import with_words

__all__ = ["grammar_schema"]

_SCHEMAS_BY_NAME = ("$defs", "definitions", "properties")
_VALUES = ("const", "default", "enum", "examples")
# Anchored at both ends, without groups that say how to match, and without classes
# such as \d; a point and other marks may be escaped.
_READABLE = re.compile(r"\^(?:[^\\(]|\((?!\?)|\\[\^$.|?*+()\[\]{}])*\$")


def grammar_schema(schema: JsonSchema) -> dict[str, object]:
    """Rewrite a schema to one that holds an answer, token by token.

    A pattern that llama.cpp cannot read is refused, or worse: it drops the grammar
    without a word, and nothing is held to anything.  So it moves into the description.

    Args:
        schema: JSON Schema.

    Source: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md and
    https://github.com/ggml-org/llama.cpp/issues/19051
    """
    plain: dict[str, object] = {}
    words: dict[str, object] = {}
    for word, said in schema.items():
        if word == "pattern" and not _READABLE.fullmatch(str(said)):
            words[word] = said
        elif word in _SCHEMAS_BY_NAME and is_object(said):
            plain[word] = {name: _inner(each) for name, each in said.items()}
        else:
            plain[word] = said if word in _VALUES else _inner(said)
    return with_words(plain, words)


def _inner(said: object) -> object:
    if is_array(said):
        return [_inner(each) for each in said]
    return grammar_schema(said) if is_object(said) else said
