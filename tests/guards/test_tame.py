from __future__ import annotations

import pytest

from rxagent.guards._tame import is_tame
from rxagent.guards._tokens import tokens_of


def tame(expression: str) -> bool:
    return is_tame(tokens_of(expression, is_verbose=False, has_nested_sets=False))


@pytest.mark.parametrize(
    "expression",
    [
        "sk-[a-z]{20}",
        r"[\w.]+@[\w.]+\.[a-z]{2,}",
        "(?:a|b|c|d|e)-[a-z]+",
        "|".join(f"k{number}-[a-z]+" for number in range(99)),
        "(?:a|aa)" * 8,
        "a?" * 8,
    ],
)
def test_few_ways_are_tame(expression: str) -> None:
    assert tame(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "(?:a|aa)" * 24 + "c",
        "a?" * 24 + "b",
        "a*" * 9 + "b",
        "(?:ab)+",
        "(?:ab){3}",
        "(ab)(?1)",
        "x|(?:(?:a|aa)(?:a|aa)(?:a|aa)(?:a|aa)(?:a|aa)){9}",
        "(?:" + "(?:a|aa)" * 24 + "|b)",
    ],
)
def test_many_ways_through_one_short_text_are_not(expression: str) -> None:
    assert not tame(expression)
