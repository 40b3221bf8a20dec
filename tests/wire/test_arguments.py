from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import ArgumentsError
from rxagent.wire import parse_arguments
from rxagent.wire.arguments import strict_arguments


@pytest.mark.parametrize("text", ["", " ", "\n", "{}", " {} "])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    """V-13."""
    assert parse_arguments(text) == {}
    assert json.loads(strict_arguments(text)) == {}


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"a": 1}', {"a": 1}),
        ('{"t":"caf\\u00e9 \\ud83d\\ude80"}', {"t": "café 🚀"}),
        ('{"t":"\\ud83d"}', {"t": "\ufffd"}),
        ('{"t":"\ud83d"}', {"t": "\ufffd"}),
    ],
)
def test_an_object_is_read_and_every_string_fits_utf_8(
    text: str, arguments: dict[str, object]
) -> None:
    assert parse_arguments(text) == arguments
    assert json.loads(strict_arguments(text).encode()) == arguments


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{text: hello", r"not valid JSON \(.*line 1 column 2.*write one complete"),
        ('{"a": 1', r"not valid JSON \(.*column 8"),
        ('{"a": 1} {"b": 2}', r"not valid JSON \(Extra data: line 1 column 10"),
        ('{"a": NaN}', r"not valid JSON"),
        ("[" * 100_000, r"not valid JSON \(too deeply nested\)"),
        ("[1]", r"a JSON array, not an object; write the parameters by name"),
        ('"a"', r"a JSON string, not"),
        ("1", r"a JSON number, not"),
        ("true", r"a JSON boolean, not"),
        ("null", r"a JSON null, not"),
    ],
)
def test_anything_else_says_what_is_wrong_and_travels_inside_an_object(
    text: str, reason: str
) -> None:
    with pytest.raises(ArgumentsError, match=reason) as caught:
        parse_arguments(text)
    assert caught.value.text == text
    assert json.loads(strict_arguments(text)) == {"INVALID_JSON": text}


@given(st.text(st.characters() | st.sampled_from('{}[]":,\\ud83d')))
def test_any_text_travels_as_an_object(text: str) -> None:
    strict = strict_arguments(text)

    assert isinstance(json.loads(strict.encode()), dict)


@pytest.mark.parametrize(
    "text", ['{"a":1e999}', '{"a":[-1E400]}', f'{{"a":{9:0<400}.0}}']
)
def test_a_number_beyond_all_floats_is_refused_and_travels_inside_an_object(
    text: str,
) -> None:
    with pytest.raises(ArgumentsError, match="Out of range"):
        parse_arguments(text)
    assert json.loads(strict_arguments(text)) == {"INVALID_JSON": text}
