from __future__ import annotations

import pytest

from tests.wire.capabilities import PAGE, written_anew


def test_the_page_says_what_the_code_can_do() -> None:
    """If not: ``python -m tests.wire.capabilities``."""
    page = PAGE.read_text()

    assert page == written_anew(page)


def test_a_page_without_a_place_for_a_table_is_not_written() -> None:
    with pytest.raises(AssertionError, match="no place for the table of requests"):
        written_anew("# What each dialect can do")
    with pytest.raises(AssertionError, match="has no end"):
        written_anew("<!-- requests -->\n")
