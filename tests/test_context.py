from __future__ import annotations

from typing import cast

import pytest

from rxagent.context import Context, Key
from rxagent.errors import ContextTypeError, MissingContextError

USER = Key("test.user", str, hint="pass context={'test.user': ...}")
AGE = Key("test.age", int)


def test_a_value_is_read_with_its_type() -> None:
    context = Context({"test.user": "Ada", "test.age": 36})

    assert context[USER] == "Ada"
    assert context[AGE] + 1 == 37
    assert context["test.user"] == "Ada"


def test_reading_another_type_names_the_key_and_the_types() -> None:
    """S001-120."""
    with pytest.raises(ContextTypeError, match=r"'test.age' holds str, not int") as at:
        Context({"test.age": "36"})[AGE]
    assert (at.value.key, at.value.expected, at.value.found) == ("test.age", int, str)


def test_a_missing_value_names_the_key_and_how_to_set_it() -> None:
    """S001-30."""
    with pytest.raises(MissingContextError, match=r"no 'test.user'; pass context="):
        Context()[USER]
    with pytest.raises(KeyError, match="no 'other'"):
        Context()["other"]


def test_none_is_a_value() -> None:
    """S001-124."""
    context = Context({"test.user": None})

    assert USER in context
    assert context["test.user"] is None
    assert context.get(USER, "default") is None
    assert Context().get(USER, "default") == "default"


def test_an_update_merges_and_changes_nothing() -> None:
    """S001-132, S004-22: a new value does not lose the others."""
    before = Context({"test.user": "Ada"})
    after = before | {"test.age": 36}

    assert dict(before) == {"test.user": "Ada"}
    assert dict(after) == {"test.user": "Ada", "test.age": 36}
    assert dict(after.set(USER, "Bob")) == {"test.user": "Bob", "test.age": 36}
    assert dict(after.without(USER)) == {"test.age": 36}


def test_setting_another_type_is_refused() -> None:
    with pytest.raises(ContextTypeError):
        Context().set(AGE, cast("int", "old"))


def test_the_source_mapping_is_copied() -> None:
    """S001-104: nobody else's change is seen."""
    source: dict[str, object] = {"a": 1}
    context = Context(source)
    source["a"] = 2

    assert context["a"] == 1


def test_a_repr_shows_names_and_no_values() -> None:
    """S001-123."""
    assert repr(Context({"token": "hunter2"})) == "Context(token)"


def test_contexts_are_equal_by_value() -> None:
    assert Context({"a": 1}) == Context({"a": 1})
    assert Context({"a": 1}) != Context({"a": 2})
    assert Context() != {}
