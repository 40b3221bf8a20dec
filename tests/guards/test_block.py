from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import ConfigurationError, GuardError
from rxagent.guards import Pattern, block
from rxagent.testing import assert_guard_laws, every_cut
from tests.guards.expressions import EXPRESSIONS, TEXTS, assume_valid, exactly


@given(expressions=st.lists(EXPRESSIONS, min_size=1, max_size=2), text=TEXTS)
def test_no_part_of_a_match_gets_out_and_without_one_all_does(
    expressions: list[str], text: str
) -> None:
    assume_valid(*expressions)
    redacted = exactly(expressions, text, ["\0"] * len(expressions))
    before, found, _ = redacted.partition("\0")
    guard = block(expressions)

    for pieces in every_cut(text):
        transducer = guard()
        out: list[str] = []
        try:
            for piece in pieces:
                out += transducer.feed(piece)
            out += transducer.flush()
        except GuardError:
            assert found
        else:
            assert not found
            assert "".join(out) == text
        assert before.startswith("".join(out))


def test_the_error_names_the_pattern_and_not_the_text() -> None:
    guard = block(Pattern(name="launch code", expression=r"code is \d+"))

    with pytest.raises(GuardError) as caught:
        guard().feed("the code is 7731.")

    assert caught.value.guard == "block"
    assert str(caught.value).endswith("it must not let out: launch code")
    assert "7731" not in str(caught.value)


def test_what_is_held_too_long_stops_the_answer_unless_it_may_go() -> None:
    with pytest.raises(GuardError, match="holds 4 characters"):
        block("<[^>]*>", max_hold_chars=4)().feed("a<bcdef")
    guard: Any = block("<[^>]*>", max_hold_chars=4, on_hold="release")
    assert guard().feed("a<bcdef") == ("a<bcdef",)
    with pytest.raises(ConfigurationError, match="on_hold must be one of"):
        block("a", on_hold="redact")  # type: ignore[arg-type]


def test_blocking_holds_the_laws_of_guards() -> None:
    assert_guard_laws(block("absent"))
    assert_guard_laws(block(r"\w+@\w+\.\w+"))
    assert repr(block("a")) == "block(pattern 1)"
