from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rxagent.stages._element import element
from rxagent.stages._legible import UNSEEN, legible


@given(st.text())
def test_what_is_legible_has_its_places(text: str) -> None:
    assert len(legible(text)) == len(text)


def test_letters_and_signs_are_in_their_plainest_form() -> None:
    assert legible("\uff1c\U0001d41d\u2014\u00a0\u200b\t\u2028ß天") == (
        f"<d- {UNSEEN} \u2028ß天"
    )


@given(st.text("<>/ -\n\u200b\uff1cdocDOC", max_size=40))
def test_of_a_text_only_the_sign_of_a_tag_is_changed(text: str) -> None:
    written = element("doc", text).removeprefix("<doc>\n").removesuffix("\n</doc>")
    pieces = written.split("&lt;")
    assert len(pieces[0]) <= len(text)
    assert len(written) - 3 * (len(pieces) - 1) == len(text)
    assert "</doc>" not in legible(written).replace(UNSEEN, "").lower()
