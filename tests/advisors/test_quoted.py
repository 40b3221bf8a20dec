from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.advisors._quoted import quoted

STRING = {"type": "string"}


def held(text: str, **properties: object) -> dict[str, object]:
    schema = quoted({"type": "object", "properties": properties}, text)
    found = schema["properties"]
    assert isinstance(found, dict)
    return found


def allows(text: str, argument: str) -> bool:
    schema = quoted(
        {"type": "object", "properties": {"a": STRING}, "required": ["a"]}, text
    )
    properties = schema["properties"]
    assert isinstance(properties, dict)
    return re.fullmatch(properties["a"]["pattern"], argument) is not None


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("What is the weather in New York?", "New York"),
        ("Write to a.b@example.org, subject: Broken screen.", "a.b@example.org"),
        ("Write to a.b@example.org, subject: Broken screen.", "Broken screen"),
        ("Work out (17 + 5) / 4 for me", "(17 + 5) / 4"),
        ("Translate 'good night' into Spanish", "good night"),
        ("Say \u201cguten Tag\u201d", "guten Tag"),
        ("Find a\\b please", "please"),
        ("北京 的 天气", "北京"),
    ],
)
def test_words_of_the_user_are_allowed_without_the_marks_around_them(
    text: str, argument: str
) -> None:
    assert allows(text, argument)


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("a broken screen", "a defective screen"),
        ("a broken screen", "a screen"),
        ("a broken screen", "bro"),
        ("a+b", "aab"),
        ('say "hello" now', 'say "hello"'),
    ],
)
def test_other_words_are_not(text: str, argument: str) -> None:
    assert not allows(text, argument)


WORDS = st.lists(
    st.text(
        st.characters(categories=["L", "N", "S"], exclude_characters="`"), min_size=1
    ),
    min_size=1,
    max_size=12,
)


@given(WORDS, st.data())
def test_every_run_of_words_is_allowed(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))

    assert allows(" ".join(words), " ".join(words[start:end]))


@given(st.text(max_size=200))
def test_any_text_gives_a_pattern_that_can_be_read(text: str) -> None:
    schema = quoted({"properties": {"a": STRING}, "required": ["a"]}, text)

    properties = schema["properties"]
    assert isinstance(properties, dict)
    re.compile(properties["a"].get("pattern", ""))


def test_a_text_without_words_changes_nothing() -> None:
    schema = {"properties": {"a": STRING}}

    assert quoted(schema, " ... ") == schema


def test_what_is_held_to_something_already_stays() -> None:
    colour = {"type": "string", "enum": ["red", "blue"]}
    number = {"type": "integer"}
    nested = {"type": "object", "properties": {"b": STRING}}
    schema = {
        "properties": {"colour": colour, "n": number, "nested": nested},
        "required": ["colour", "n", "nested"],
    }

    assert quoted(schema, "anything at all") == schema


def test_an_optional_argument_stays_if_the_text_hints_at_it() -> None:
    unit = {"type": "string", "enum": ["celsius", "fahrenheit"]}
    days = {"type": "integer"}

    assert held("the weather in Oslo", unit=unit, days=days) == {}
    assert held("the weather in Oslo in Celsius", unit=unit) == {"unit": unit}
    assert held("the weather for 3 days", days=days) == {"days": days}
    assert list(held("in which unit", unit=unit)) == ["unit"]


def test_the_pattern_of_a_long_text_is_bounded() -> None:
    def size(words: int) -> int:
        schema = quoted(
            {"properties": {"a": STRING}, "required": ["a"]}, "word " * words
        )
        return len(str(schema))

    assert size(10_000) == size(200)
