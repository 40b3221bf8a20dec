from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.tools.safe_name import check_name, safe_name


@given(st.text(min_size=1))
def test_every_name_becomes_one_that_every_provider_takes(name: str) -> None:
    check_name(safe_name(name))


@given(st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True))
def test_a_name_that_is_fine_stays_what_it_is(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.parametrize(
    ("name", "safe"), [("a.b/c d", "a_b_c_d"), ("größe", "gr__e"), ("é" * 2, "__")]
)
def test_what_is_not_allowed_becomes_a_line(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_long_names_that_differ_late_stay_different() -> None:
    long = "x" * 80
    assert safe_name(f"{long}1") != safe_name(f"{long}2")
    assert len(safe_name(f"{long}1")) == 64
