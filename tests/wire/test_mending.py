from __future__ import annotations

import pytest

from tests.wire.mending import MENDED, PAGE, REFUSED, read, written_anew


@pytest.mark.parametrize(("text", "value"), MENDED.values(), ids=MENDED)
def test_what_is_odd_is_read(text: str, value: object) -> None:
    """S000-67, acceptance 66 of Spring AI."""
    assert read(text) == value


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_a_sentence(text: str) -> None:
    """S000-68: what is not sure is never guessed."""
    assert isinstance(read(text), str)


def test_the_page_says_what_the_code_does() -> None:
    """If not: ``python -m tests.wire.mending``."""
    page = PAGE.read_text()

    assert page == written_anew(page)
