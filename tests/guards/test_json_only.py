from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.guards import json_only
from rxagent.testing import every_cut
from tests.guards.feeding import fed, held_after

JSON = {
    "alone": ('{"a": 1}', '{"a": 1}'),
    "in prose": ('Here: {"a": {"b": []}}. And {"c": 2}', '{"a": {"b": []}}'),
    "in a fence": ('```json\n{"a": 1}\n```', '{"a": 1}'),
    "an array of texts": ('They are ["a", "b"].', '["a", "b"]'),
    "an array of objects": ('So: [ {"a": 1}, {}]', '[ {"a": 1}, {}]'),
    "numbers that start a line": ("So:\n [1, -2.5e3]\n", "[1, -2.5e3]"),
    "one word that is a line": ("[true]\n", "[true]"),
    "rows of numbers": ("[[1, 2], [3]]", "[[1, 2], [3]]"),
    "empty": ("```\n{}\n```", "{}"),
    "brackets and quotes in a text": (r'{"a": "}\"]{"} x', r'{"a": "}\"]{"}'),
    "a quote in a key": (r'{"a\"b": 1}', r'{"a\"b": 1}'),
    "raw newlines and commas": ('{"a": "x\ny",}', '{"a": "x\ny",}'),
    "cut off": ('So: {"a": [1, 2', '{"a": [1, 2'),
    "braces before": ('With {x, y} and { "z" }: {"a": 1}', '{"a": 1}'),
    "citations before": ('As in [1], [see] and [2, 3]: {"a": 1}', '{"a": 1}'),
    "an index before": ('rows["x"], f(1)["y"]: {"a": 1}', '{"a": 1}'),
    "a task before": ('[ ] do\n[x] done\n[link](u)\n{"a": 1}', '{"a": 1}'),
    "an open quote before": ('{"so {"a": 1}', '{"a": 1}'),
    "a fence of a shell before": (
        '```bash\necho {"b": 1}\n```\nthen\n```json\n{"a": "``` x"}\n```',
        '{"a": "``` x"}',
    ),
}
NO_JSON = ["", "prose", "{x}", "an empty {} or []", "[1] Smith", "[no", '{"a', "{"]


def only_json(text: str) -> str:
    """What leaves, which must not depend on how ``text`` is cut."""
    found = {"".join(fed(json_only(), pieces)) for pieces in every_cut(text)}
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize(("text", "expected"), JSON.values(), ids=JSON)
def test_the_first_json_leaves_without_its_prose(text: str, expected: str) -> None:
    assert only_json(text) == expected


@pytest.mark.parametrize("text", NO_JSON)
def test_prose_with_brackets_is_not_delivered(text: str) -> None:
    assert only_json(text) == ""


def test_it_leaves_as_it_comes_once_it_is_sure() -> None:
    guard = json_only()

    assert fed(guard, ["So: {", '"a"', ": ", "1", "} Fine?"]) == ['{"a": ', "1", "}"]
    assert held_after(guard, ["So: {", '"a"']) == 4
    assert held_after(guard, ["So: {", '"a": 1']) == 0


def test_a_key_without_an_end_is_not_held_for_ever() -> None:
    text = '{"' + "a" * 20_000
    assert held_after(json_only(), list(text)) == 0
    assert fed(json_only(), [*text, '\n{"a": 1}']) == ['{"a": 1}']


@pytest.mark.parametrize("start", ["[", "{", '{"', '{"a', "[ ", "[1", '{"\\'])
def test_prose_of_nothing_but_brackets_is_read_in_linear_time(start: str) -> None:
    text = start * 20_000
    assert fed(json_only(), [text]) == fed(json_only(), list(text)) == []


@given(
    pieces=st.lists(
        st.sampled_from(["{", "}", "[", "]", '"', ":", "a", "1", ",", "\n", "```", " "])
    )
)
def test_what_leaves_does_not_depend_on_the_cut(pieces: list[str]) -> None:
    text = "".join(pieces)
    out = "".join(fed(json_only(), pieces))

    assert out == "".join(fed(json_only(), [text]))
    assert out in text
