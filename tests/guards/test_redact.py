"""Issue 6: what comes out is what the whole text would give, however it is cut."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import pytest
import reactivex
import regex
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rxagent.errors import ConfigurationError, GuardError
from rxagent.guards import Match, Pattern, TextGuard, redact
from rxagent.guards._text_guard import Placing
from rxagent.testing import assert_guard_laws, every_cut
from tests.guards.expressions import (
    EXPRESSIONS,
    LONG_TEXTS,
    TEXTS,
    assume_valid,
    exactly,
)

# For a night's worth, see docs/contributing.md.
EXAMPLES = int(os.environ.get("RXAGENT_REDACTION_EXAMPLES", "500"))

by_chance = settings(
    max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow]
)


def outputs(guard: TextGuard, pieces: Sequence[str]) -> list[str]:
    """What is let out after each piece, and at the end."""
    transducer = guard()
    out = ["".join(transducer.feed(piece)) for piece in pieces]
    return [*out, "".join(transducer.flush())]


def joined(guard: TextGuard, *pieces: str) -> str:
    return "".join(outputs(guard, pieces))


def held(guard: TextGuard, *pieces: str) -> int:
    transducer: Any = guard()
    for piece in pieces:
        transducer.feed(piece)
    return int(transducer.held)


@by_chance
@given(
    expressions=st.lists(EXPRESSIONS, min_size=1, max_size=3),
    texts=st.lists(TEXTS, min_size=1, max_size=3),
)
@example(expressions=[r"(?=(a|\b)\1)"], texts=["1aa"])
@example(expressions=[r"\w(?:(a))*"], texts=["\n a a"])
@example(expressions=[r"(?<!(?=ß\b))"], texts=["ß1"])
@example(expressions=["sk-a+", "a+", "-"], texts=["sk-aab-"])
@example(expressions=["a??", "|a"], texts=["aab"])
@example(expressions=["[ab]+-|b1"], texts=["ab1"])
@example(expressions=["(?i)[ab]+-"], texts=["aA-B"])
def test_the_redaction_law_holds_at_every_cut(
    expressions: list[str], texts: list[str]
) -> None:
    """S002-20, S002-2 to S002-4: nothing of a match gets out before it is decided."""
    assume_valid(*expressions)
    replacements = [f"<{number}>" for number in range(len(expressions))]
    guard = redact(
        [
            Pattern(expression=each, replacement=replacement)
            for each, replacement in zip(expressions, replacements, strict=True)
        ]
    )
    for text in texts:
        wanted = exactly(expressions, text, replacements)
        for pieces in every_cut(text):
            *before, last = outputs(guard, pieces)
            assert wanted.startswith("".join(before))
            assert "".join(before) + last == wanted


@by_chance
@given(
    expressions=st.lists(EXPRESSIONS, min_size=1, max_size=2),
    text=LONG_TEXTS,
    width=st.integers(2, 30),
)
def test_it_holds_for_longer_texts_of_which_much_is_held(
    expressions: list[str], text: str, width: int
) -> None:
    assume_valid(*expressions)
    guard = redact(expressions, "#")
    wanted = exactly(expressions, text, ["#"] * len(expressions))
    wide = [text[start : start + width] for start in range(0, len(text), width)]

    for pieces in ([text], list(text), wide):
        assert joined(guard, *pieces) == wanted


@by_chance
@given(
    expressions=st.lists(EXPRESSIONS, min_size=1, max_size=2),
    text=TEXTS,
    longest=st.integers(1, 4),
    on_hold=st.sampled_from(["release", "redact"]),
)
@example(expressions=["[ab]+?-a"], text="a11", longest=3, on_hold="redact")
def test_what_is_held_too_long_does_not_depend_on_the_cut_either(
    expressions: list[str], text: str, longest: int, on_hold: Any
) -> None:
    assume_valid(*expressions)
    guard = redact(expressions, "#", max_hold_chars=longest, on_hold=on_hold)
    whole = joined(guard, text)

    for pieces in every_cut(text):
        assert joined(guard, *pieces) == whole


@by_chance
@given(
    expressions=st.lists(EXPRESSIONS, min_size=1, max_size=2),
    text=TEXTS,
    width=st.integers(1, 4),
)
def test_no_more_is_held_than_the_engine_says_when_it_is_asked_each_time(
    expressions: list[str], text: str, width: int
) -> None:
    assume_valid(*expressions)
    guard = redact(expressions, "#")
    quick, asked = guard(), guard()
    assert isinstance(asked, Placing)
    by_quick = by_asked = ""

    for start in range(0, len(text), width):
        piece = text[start : start + width]
        by_quick += "".join(quick.feed(piece))
        by_asked += "".join(span.text for span in asked.feed_placed(piece))
        # Of a lazy repeat the engine says that it goes on when it cannot any more.
        assert by_quick.startswith(by_asked)


@given(expression=EXPRESSIONS, text=TEXTS)
def test_one_pattern_gives_what_the_engine_gives(expression: str, text: str) -> None:
    """But for an empty match that the engine tries again in the same place."""
    assume_valid(expression)
    engine = regex.compile(expression)
    spans = [found.span() for found in engine.finditer(text)]
    starts = [start for start, _ in spans]

    if len(set(starts)) == len(starts):
        assert joined(redact(expression, "#"), text) == engine.sub("#", text)


@pytest.mark.parametrize(
    ("patterns", "text", "wanted"),
    [
        (r"(?<=key: )\w+", "key: abc, abc", "key: #, abc"),
        (r"(?<!no )secret\b", "secret, no secret, secrets", "#, no secret, secrets"),
        (r"\bcode\b", "a code, codes, decode", "a #, codes, decode"),
        ("ab|abcd", "abcd", "#cd"),  # what the engine finds, and no longer one
        (["ab", "abcd"], "abcd", "#"),  # of two patterns, the longer match
        (["b", "abc"], "abc b", "# #"),  # the leftmost before the longest
        (r"\d+(?= euros)", "15 euros, 20 dollars", "# euros, 20 dollars"),
        (r"\d+(?! euros)\b", "15 euros, 20 dollars", "15 euros, # dollars"),
        (r"<.+?>", "<a><b>", "##"),
        (r"<.+>", "<a><b>", "#"),
        (r"$", "a", "a#"),
        (r"^", "a\nb", "#a\nb"),
        (r"(?m)^", "a\nb", "#a\n#b"),
        (r"x*", "abxd", "#a#b##d#"),
        (r"(?i)straße", "Straße STRAßE", "# #"),
        (r"é\b", "café", "caf#"),
        (r"e\X?", "cafe\u0301s", "caf#s"),
        (r"(\w)\1", "aabb ab", "## ab"),
        (r"(?<a>x)?(?(a)y|z)", "xy z x", "# # x"),
        (r"\p{Lu}{2,}", "ABC dE", "# dE"),
        ("(?x) a  # ( a comment\n b", "ab", "#"),
        (r"(?V1)[[a-z]--[aeiou]]+", "abcde", "a#e"),
        (r"[]a]+", "a]b", "#b"),
        (r"[[:digit:]]+", "a12", "a#"),
        (r"a(?#b)c", "ac", "#"),
        (r"\bk{2,3}", "kkkk", "#k"),
        ("[ab]{}-", "ab{}-", "a#"),  # braces that repeat nothing
        # A flag counts from where it stands.
        (
            r"key:[^x]+(?i)end",
            "my key:aXbEND KEY:abEND",
            "my #",
        ),
        (r"[a-z]+@(?i)[a-z]+\.com", "Ann@Example.COM", "A#"),
        (r"[a-z]+@(?i)", "bK@", "bK@"),
        (r"a.(?s).b", "a\nxb ax\nb", "a\nxb #"),
        (r"(?i:x)y(?i)z", "XYz XyZ", "XYz #"),
        (r"[a-z]+@$(?m)", "ab@\nc", "ab@\nc"),
        (r"\b(?i)[a-z]+@", "xB@", "#"),
        (r"(?-i)a(?-i:b)", "ab", "#"),
        (r"(?<=[ab]\M?)x", "ax bx", "a# b#"),
        (r"(?<=^|,$?)x", "x,x", "#,#"),
        (r"(?<!\b?)x", "ax x", "ax x"),
        (r"[[:]+@", "a[:@", "a#"),
        (r"[[:^alpha:]x]+", "ax1b", "a#b"),
    ],
)
def test_whatever_the_engine_knows_holds_across_pieces(
    patterns: str | list[str], text: str, wanted: str
) -> None:
    for pieces in every_cut(text):
        assert joined(redact(patterns, "#"), *pieces) == wanted


def test_of_two_patterns_with_the_same_match_the_first_one_given_replaces() -> None:
    first, second = (
        Pattern(expression=expression, replacement=replacement)
        for expression, replacement in (("ab", "1"), ("a.", "2"))
    )

    assert joined(redact([first, second]), "ab") == "1"
    assert joined(redact([second, first]), "ab") == "2"


@pytest.mark.parametrize(
    ("pattern", "pieces", "wanted"),
    [
        ("sk-[a-z]{4}", ["hello"], 0),
        ("sk-[a-z]{4}", ["hello s"], 1),
        ("sk-[a-z]{4}", ["hello sk-ab"], 5),
        ("sk-[a-z]{4}", ["hello sk-abcd"], 0),  # it cannot grow
        ("sk-[a-z]{4,}", ["hello sk-abcd"], 7),  # it can
        ("sk-[a-z]{4,}", ["hello sk-abcd", " "], 0),
        (r"ab\b", ["ab"], 2),
        (r"ab\b", ["abc"], 0),
        (r"\bab", ["c"], 0),
        ("ab|ab.*", ["abc"], 0),  # the second one is never asked
        ("ab(?!c)", ["ab"], 2),
        ("a$", ["a\n"], 2),
        ("a$", ["a\nb"], 0),
    ],
)
def test_only_what_a_text_that_comes_can_change_is_held(
    pattern: str, pieces: list[str], wanted: int
) -> None:
    assert held(redact(pattern), *pieces) == wanted


@pytest.mark.parametrize(
    ("pattern", "text", "holds"),
    [
        ("[ab]+-", "x aab", 3),
        ("[ab]{2}-", "x aaab", 2),  # no match has more of them
        ("[ab][a-c]{,2}-", "x bcaab", 3),
        ("[ab]+-", "aab x", 0),
        (r"(?<!x)[ab]+-", "xab", 1),
        (r"(?<=é)[ab]+-", "éab", 2),
        ("[ab]+-c", "a-b", 1),
    ],
)
def test_of_the_characters_with_which_a_match_starts_as_many_are_held_as_it_may_have(
    pattern: str, text: str, holds: int
) -> None:
    assert held(redact(pattern), text) == held(redact(pattern), *text) == holds


def test_a_piece_in_which_nothing_can_start_passes_as_it_is() -> None:
    piece = " and the rest"

    assert redact(r"\d{3}-\d{4}")().feed(piece) == (piece,)


def test_a_function_replaces_by_what_it_sees_of_the_match() -> None:
    def last_four(match: Match) -> str:
        return f"…{match.group()[-4:]} ({match.group('kind')})"

    guard = redact(r"(?<kind>sk)-\w{8,}", last_four)

    for pieces in every_cut("use sk-abcdefgh1234 now"):
        assert joined(guard, *pieces) == "use …1234 (sk) now"


def test_a_replacement_is_a_text_and_no_template() -> None:
    assert joined(redact("(a)", r"\1"), "a") == r"\1"


def test_what_fails_its_check_is_no_match() -> None:
    even = Pattern(expression=r"\d+", check=lambda text: int(text) % 2 == 0)

    for pieces in every_cut("12 is even, 13 is not"):
        # 13 is none, so 3 is asked, and it is none either.
        assert joined(redact(even, "#"), *pieces) == "# is even, 13 is not"


class TestHoldingTooLong:
    NEVER = r"<[^>]*>"

    def test_what_may_become_a_match_is_replaced_before_it_is_known(self) -> None:
        guard = redact(self.NEVER, "#", max_hold_chars=4)

        assert outputs(guard, ["a<bcd", "efgh", ">i"]) == ["a#", "", "", "i"]

    def test_and_nothing_of_it_gets_out_when_it_was_none(self) -> None:
        guard = redact("<[a-z]*>", "#", max_hold_chars=4)

        for pieces in every_cut("a<bcdefgh. Bye <b>, and more"):
            assert joined(guard, *pieces) == "a##, and more"

    def test_it_is_released_if_that_is_wanted(self) -> None:
        guard = redact(self.NEVER, "#", max_hold_chars=4, on_hold="release")

        assert joined(guard, *"a<b> <bcdefgh>") == "a# <bcdefgh>"

    def test_it_stops_the_answer_if_that_is_wanted(self) -> None:
        guard = redact(self.NEVER, max_hold_chars=4, on_hold="stop")

        with pytest.raises(GuardError, match="holds 4 characters that may become"):
            joined(guard, *"a<bcdefgh>")

    def test_a_function_sees_what_is_there(self) -> None:
        guard = redact(self.NEVER, lambda m: f"{len(m.group())}", max_hold_chars=4)

        assert joined(guard, "a<bcdefgh>i") == "a4i"


class Counting:
    """An engine that counts the characters that it is asked about."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.flags = engine.flags
        self.characters = 0
        self.longest_search = 0
        self.searches = 0

    def search(self, text: str, at: int = 0, /, **options: Any) -> Any:
        self.characters += len(text) - at
        self.searches += 1
        self.longest_search = max(self.longest_search, len(text) - at)
        return self._engine.search(text, at, **options)

    def match(self, text: str, at: int = 0, /, **options: Any) -> Any:
        self.characters += len(text) - at
        return self._engine.match(text, at, **options)


@pytest.mark.parametrize("on_hold", ["redact", "release"])
def test_an_endless_candidate_takes_linear_time(on_hold: Any) -> None:
    """Ten times the text is about ten times the work, piece by piece."""
    work: list[int] = []
    for length in (2_000, 20_000):
        guard: Any = redact("a+b", "#", max_hold_chars=64, on_hold=on_hold)
        compiled = guard.rules[0].compiled
        engines = [Counting(compiled.open), Counting(compiled.touches)]
        compiled.open, compiled.touches = engines
        joined(guard, *"a" * length)
        work.append(sum(engine.characters for engine in engines))

    assert 0 < work[1] < 11 * work[0]


def test_a_long_candidate_costs_little_however_small_the_pieces_are() -> None:
    """A key of 4,000 characters, one by one: each is asked about a few dozen times."""
    guard: Any = redact(r"-BEGIN-[\s\S]*?-END-", "#")
    compiled = guard.rules[0].compiled
    engines = [Counting(compiled.open), Counting(compiled.touches)]
    compiled.open, compiled.touches = engines
    text = f"a -BEGIN-{'x' * 4_000}-END- b"

    assert joined(guard, *text) == "a # b"
    assert sum(engine.characters for engine in engines) < 40 * len(text)


def test_a_search_is_not_made_where_a_match_has_begun_long_ago() -> None:
    """A search for what may come looks for what is there first, in all of the text."""
    guard: Any = redact("<[^>]*>", "#", on_hold="release")
    compiled = guard.rules[0].compiled
    compiled.open = engine = Counting(compiled.open)

    assert joined(guard, *["a<" * 8] * 400) == "a<" * 3_200
    assert engine.longest_search < 1_000


def test_two_patterns_of_which_each_may_go_on_do_not_ask_each_other_again() -> None:
    guard: Any = redact(
        [r"x\w*b\b", r"c(?:c|b)*x"], on_hold="release", max_hold_chars=1_000
    )
    engines: list[Counting] = []
    for rule in guard.rules:
        rule.compiled.open = Counting(rule.compiled.open)
        engines.append(rule.compiled.open)
    text = ("x" * 500 + "cb" * 250 + "a" * 10) * 4

    joined(guard, *(text[start : start + 50] for start in range(0, len(text), 50)))

    assert sum(engine.searches for engine in engines) < len(text)


def test_a_place_that_only_a_search_names_is_not_held() -> None:
    r"""The engine's search says of "(?s)[]a]{2,600}?@@" what its match denies."""
    text = f"{'a' * 34}@{'a' * 300}{'b' * 299}{'@' * 69}{'b' * 21}{'a' * 279}ba"
    guard = redact(r"(?s)[]a]{2,600}?@@.*?b", "#", max_hold_chars=8)

    assert joined(guard, *text) == joined(guard, text)


def test_what_a_pattern_looks_back_at_is_under_the_clock_too() -> None:
    guard = redact(r"(?<=key(?:\w+ ?){1,60}: )\w+", timeout_s=0.05)

    with pytest.raises(GuardError, match="took more than"):
        joined(guard, *"The quick brown fox jumps over the lazy dog and so on: x.")


def test_many_ways_one_after_the_other_are_a_guard_error_too() -> None:
    guard = redact("(?:a|aa)" * 26 + "c", timeout_s=0.05)

    with pytest.raises(GuardError, match="took more than"):
        joined(guard, *"a" * 60, "b")


def test_a_catastrophic_pattern_is_a_guard_error_and_no_standstill() -> None:
    guard = redact(r"(?:a|a)+(?!a|c)\W", timeout_s=0.05)

    with pytest.raises(GuardError, match=r"took more than 0\.05 s to look for"):
        joined(guard, "a" * 60 + "c")
    with pytest.raises(GuardError, match="took more than"):
        joined(guard, *"a" * 60, "c")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "is no expression of the regex package"),
        (r"\Ga", r"\\G"),
        (r"a\Kb", r"\\K"),
        ("a(?R)?b", r"\(\?R\)"),
        ("(a|(?1))", "calls itself without end"),
        (r"a(*SKIP)b", "SKIP"),
        ("(?:abc){e<=1}", "approximate"),
        ("(?r)ab", "flag"),
        (r"(?w)a\b", "flag"),
        ("(?p)a|ab", "flag"),
        ("(?b)(?:ab){e}", "flag"),
        ("(?if)straße", "full case folding"),
        ("(?V1i)straße", "full case folding"),
        ("(?i)(?f:straße)", "flags f, w, x and V"),
        ("(?x:a b)", "flags f, w, x and V"),
        ("ab # c(?x)", "flags f, w, x and V"),
        ("(?x)(?-x:a#(b)*)", "flags f, w, x and V"),
    ],
)
def test_what_no_stream_can_follow_is_refused(pattern: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        redact(pattern)


@pytest.mark.parametrize("wrong", [None, 5, ["a", 5], reactivex.never()])
def test_what_is_no_pattern_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="texts of expressions and Patterns"):
        redact(wrong)


def test_options_that_cannot_work_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="max_hold_chars must be 1 or more"):
        redact("a", max_hold_chars=0)
    with pytest.raises(ConfigurationError, match="timeout_s must be more than 0"):
        redact("a", timeout_s=0)
    with pytest.raises(ConfigurationError, match="on_hold must be one of"):
        redact("a", on_hold="relase")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="needs a pattern at least"):
        redact([])


def test_without_the_regex_package_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "regex", None)

    with pytest.raises(ConfigurationError, match=r"install rxagent\[guards\]"):
        redact("a")


def test_neither_its_name_nor_an_error_tells_the_secret() -> None:
    secret = "hunter2"
    guard = redact([secret, Pattern(name="password", expression=f"{secret}!")])

    assert repr(guard) == "redact(pattern 1, password)"
    assert secret not in repr(Pattern(expression=secret))
    with pytest.raises(ConfigurationError) as caught:
        redact(f"{secret}(")
    assert secret not in str(caught.value)


def test_redaction_holds_the_laws_of_guards() -> None:
    assert_guard_laws(redact([r"\w+@\w+\.\w+", r"\d+", r"\b"]))
    assert_guard_laws(redact("<.*>", on_hold="stop", max_hold_chars=3), "a <bcd> e")
