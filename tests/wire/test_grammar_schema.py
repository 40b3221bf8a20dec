from __future__ import annotations

import pytest

from rxagent.wire.grammar_schema import grammar_schema


@pytest.mark.parametrize(
    "pattern", ["^a$", "^[A-Z]{2}-[0-9]+$", "^(a|b)?$", r"^1\.5$", "^$"]
)
def test_a_pattern_that_can_be_read_stays(pattern: str) -> None:
    schema = {"type": "string", "pattern": pattern}
    assert grammar_schema(schema) == schema


@pytest.mark.parametrize("pattern", ["[0-9]", "^K", r"^\d$", r"^(?!a)b$", r"^a\$", ""])
def test_a_pattern_that_drops_the_grammar_is_words(pattern: str) -> None:
    schema = {"type": "string", "pattern": pattern, "description": "A code."}
    plain = grammar_schema(schema)
    assert "pattern" not in plain
    assert str(plain["description"]).startswith("A code. (pattern: ")


def test_patterns_are_found_wherever_schemas_are_and_nowhere_else() -> None:
    code = {"type": "string", "pattern": "K"}
    value = {"const": {"pattern": "K"}, "default": {"pattern": "K"}}
    schema = {
        "properties": {"pattern": {"items": code}, "const": code, "value": value},
        "$defs": {"a": {"anyOf": [code, True]}},
    }
    words = {"type": "string", "description": '(pattern: "K")'}
    assert grammar_schema(schema) == {
        "properties": {"pattern": {"items": words}, "const": words, "value": value},
        "$defs": {"a": {"anyOf": [words, True]}},
    }
