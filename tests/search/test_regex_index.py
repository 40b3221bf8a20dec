from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.search import RegexIndex
from tests.search.catalogue import found, spec

TOOLS = [spec("get_user_data"), spec("get_log"), spec("setUser", "get_user_data too")]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("get_.*_data", ["get_user_data"]),
        ("^get_", ["get_log", "get_user_data"]),
        ("user", ["get_user_data", "setUser"]),
        ("USER$", ["setUser"]),
        ("(log|set)", ["get_log", "setUser"]),
        ("(?i)GET_L.*", ["get_log"]),
        (" get_log ", ["get_log"]),
        (".*", ["get_log", "get_user_data", "setUser"]),
        ("quantum", []),
        ("天气", []),
        ("", []),
        (" \t", []),
    ],
)
def test_a_query_is_a_pattern_of_names(query: str, names: list[str]) -> None:
    """S000-55, V-18, M-58."""
    assert found(RegexIndex(), TOOLS, query) == names


@pytest.mark.parametrize("query", ["get(", "[a", "a**", r"\b", "(?=get)", "a" * 999])
def test_what_is_no_pattern_is_looked_for_as_it_is_written(query: str) -> None:
    """S000-55: it never raises."""
    assert found(RegexIndex(), TOOLS, query) == []
    assert found(RegexIndex(), [spec(f"x{query}y"), *TOOLS], query) == [f"x{query}y"]


def test_the_limit_cuts_the_list() -> None:
    assert found(RegexIndex(), TOOLS, "e", 2) == ["get_log", "get_user_data"]


@given(st.text(max_size=250))
def test_no_query_raises(query: str) -> None:
    """S000-55."""
    found(RegexIndex(), TOOLS, query)
