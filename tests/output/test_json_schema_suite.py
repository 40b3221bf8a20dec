"""Validation is the library's, and not ours: the verdicts are those of others.

The JSON Schema Test Suite is not copied here.  ``RXAGENT_JSON_SCHEMA_SUITE`` names the
folder of its draft 2020-12; where it is from says ``docs/contributing.md``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from rxagent.errors import ConfigurationError, InvalidAnswerError
from rxagent.output import OutputType, output_type

FOLDER = Path(os.environ.get("RXAGENT_JSON_SCHEMA_SUITE", "no folder"))
ELSEWHERE = "http://localhost:1234"  # other documents, which would have to be fetched


def groups() -> Iterator[object]:
    for path in sorted(FOLDER.glob("*.json")):
        for group in json.loads(path.read_text()):
            if "custom metaschema" in group["description"]:
                continue  # a language of its own, which has to be fetched
            yield pytest.param(group, id=f"{path.stem}: {group['description']}")


def is_valid(wanted: OutputType[object], value: object) -> bool:
    try:
        wanted.load(value)
    except InvalidAnswerError:
        return False
    return True


if GROUPS := list(groups()):

    @pytest.mark.parametrize("group", GROUPS)
    def test_a_group_of_the_suite_has_the_verdicts_that_it_says(group: Any) -> None:
        """S001-49, S000-72."""
        schema = group["schema"]
        schema = schema if isinstance(schema, dict) else {"allOf": [schema]}
        try:
            wanted = output_type(schema)
        except ConfigurationError:
            assert ELSEWHERE in json.dumps(schema)
            return
        for each in group["tests"]:
            assert is_valid(wanted, each["data"]) == each["valid"], each["description"]

else:

    def test_the_suite_is_not_here() -> None:
        assert not FOLDER.exists(), f"{FOLDER} holds no suite"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats(-2, 3)
    | st.sampled_from(["", "a", "ab"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=6,
)
COUNTS = st.integers(0, 2)
KINDS = st.sampled_from(
    ["null", "boolean", "integer", "number", "string", "array", "object", "objekt"]
)
SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS | st.lists(KINDS, min_size=1, max_size=2, unique=True),
            "enum": st.lists(VALUES, min_size=1, max_size=2),
            "const": VALUES,
            "minimum": COUNTS,
            "multipleOf": st.integers(1, 2),
            "maxLength": COUNTS,
            "pattern": st.sampled_from(["^a", "b$"]),
            "minItems": COUNTS,
            "uniqueItems": st.booleans(),
            "required": st.lists(st.sampled_from("ab"), max_size=2, unique=True),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {"$defs": st.fixed_dictionaries({"a": inner})},
        optional={
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "contains": inner,
            "properties": st.dictionaries(st.sampled_from("ab"), inner),
            "patternProperties": st.fixed_dictionaries({"^a": inner}),
            "additionalProperties": inner | st.booleans(),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "if": inner,
            "then": inner,
        },
    ),
    max_leaves=5,
)


@settings(max_examples=150)
@given(SCHEMAS, VALUES)
def test_our_verdict_is_that_of_the_library(
    schema: dict[str, Any], value: object
) -> None:
    """S001-49: every word of a schema means what jsonschema says it means."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        with pytest.raises(ConfigurationError, match="no JSON Schema"):
            output_type(schema)
    else:
        validator: Any = Draft202012Validator(schema)
        theirs = validator.is_valid(value)
        assert is_valid(output_type(schema), value) == theirs
