from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rxagent.errors import NoJsonError
from rxagent.wire import extract_json

ANSWERS: dict[str, tuple[str, object]] = {
    "the whole text": ('{"a": 1}', {"a": 1}),
    "an array": (" [1, 2]\n", [1, 2]),
    "a fence": ('```json\n{"a": 1}\n```', {"a": 1}),
    "a longer fence": ('````\n{"a": 1}\n````', {"a": 1}),
    "a fence that is not closed": ('```json\n{"a": 1}', {"a": 1}),
    "a fence of something else first": (
        'Run:\n```bash\necho {a,b}\n```\n```json\n{"a": 1}\n```',
        {"a": 1},
    ),
    "backticks in a string": ('```json\n{"a": "in ```json"}\n```', {"a": "in ```json"}),
    "prose around": (
        'With `f` over {x, y}: {"a": "use `p`"}. Does {this} help?',
        {"a": "use `p`"},
    ),
    "quotes in the prose": ('He said "go {"a": 1} and "stop".', {"a": 1}),
    "brackets in the prose": ('See [1] and [x {"a": 1} for "b".', {"a": 1}),
    "brackets in a string": ('{"a": "}]{["}!', {"a": "}]{["}),
    "a string in the prose that eats a bracket": ('["a, {"x": 1}]', {"x": 1}),
    "thoughts with a draft": (
        '<think>maybe {"a": 0}?</think>\n{"a": 1}',
        {"a": 1},
    ),
    "thoughts that the prompt opened": ('maybe {"a": 0}?</think>{"a": 1}', {"a": 1}),
    "a closing tag in a string": ('{"a": "</think>"}', {"a": "</think>"}),
    "a draft, then the answer": ('First {"a": 0}, better {"a": 1}.', {"a": 1}),
    "an object before a footnote": ('{"a": 1} See [2].', {"a": 1}),
    "trailing commas": (
        '{"a": ["x", "y",], "b": ",] and ,}", }',
        {"a": ["x", "y"], "b": ",] and ,}"},
    ),
    "raw control characters": ('{"a": "x\n\ty\n"}', {"a": "x\n\ty\n"}),
    "half of a pair": ('{"a": "\\ud83d"}', {"a": "\ufffd"}),
    "numbers and words": (
        "so: [-1.5e3, true, false, null]",
        [-1500.0, True, False, None],
    ),
    "nesting": ('so: {"a": {"b": [{"c": {}}]}}', {"a": {"b": [{"c": {}}]}}),
}


@pytest.mark.parametrize(("text", "value"), ANSWERS.values(), ids=ANSWERS)
def test_the_json_that_is_meant_is_found(text: str, value: object) -> None:
    """S000-67."""
    assert extract_json(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I am sorry, I cannot.",
        "<think>I could write {} here</think>I am sorry.",
        '<think>{"a": 1}',
        "{this}",
        '{"a": {"b": 1}, "c": "cut o',
        '{"a": 1',
        "{'a': 1}",
        '{"a": NaN}',
        '{"a": 1e400}',
        'so: {"a": [-1E+999]}',
        f'{{"a": {"1" * 400}.0}}',
        f'{{"a": {"1" * 5000}}}',
        "so: {1, 2}",
        "so: [1, 2}",
        "[" * 10_000 + "1,]" + "]" * 9_999,
        '{"' + '\\"' * 3,
    ],
)
def test_where_none_is_an_error_says_so(text: str) -> None:
    """json-nothing-there: never ``{}`` or ``None`` taken as data."""
    with pytest.raises(NoJsonError, match="no complete JSON") as caught:
        extract_json(text)
    assert caught.value.text == text


def test_of_several_the_last_that_fits_is_meant() -> None:
    text = 'A: {"n": 1} B: {"n": 2} C: {"n": "x"} D: [4]'

    def is_number(value: object) -> bool:
        return isinstance(value, dict) and isinstance(value.get("n"), int)

    assert extract_json(text, fits=is_number) == {"n": 2}
    assert extract_json(text, fits=lambda value: isinstance(value, list)) == [4]
    assert extract_json(text, fits=lambda value: value == 5) == {"n": "x"}
    assert extract_json(text) == {"n": "x"}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
prose = st.text(st.characters(exclude_characters='{}[]"<')).filter(str.strip)


@given(
    prose,
    st.lists(values) | st.dictionaries(st.text(), values),
    st.sampled_from(["", "\n```", " thanks"]),
)
def test_any_object_or_array_is_found_in_prose(
    before: str, value: object, after: str
) -> None:
    text = before + json.dumps(value) + after
    assume("think>" not in text)  # there it is the end of a thought

    assert extract_json(text) == value


@given(st.text(st.sampled_from('{}[]",:\\ 1atrue<>/\n`')))
def test_any_text_gives_a_value_or_a_typed_error(text: str) -> None:
    with suppress(NoJsonError):
        json.dumps(extract_json(text), allow_nan=False).encode()


@pytest.mark.parametrize(
    "unit",
    ["[", '{"a":', '{"', '["[[[" x', "[1,", "[ x", "{}]", '"', '\\"', "[,", "</think>"],
)
def test_hostile_text_is_read_in_linear_time(unit: str) -> None:
    """A quadratic search would need hours for this."""
    with pytest.raises(NoJsonError):
        extract_json("x " + '{"' + unit * 200_000)
