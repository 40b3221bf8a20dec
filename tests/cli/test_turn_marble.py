from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.cli.event_marks import MEANINGS, Ending, Mark
from rxagent.cli.turn_marble import TurnMarble
from rxagent.usage import Usage

WIDTH = 200
OF_A_TOOL = "aspfx"
LEGEND = re.compile(r"  . [a-z]")


def mark(
    letter: str, lane: str = "", *, round_: int = 0, usage: Usage | None = None
) -> Mark:
    is_tool = letter in OF_A_TOOL
    ending = Ending(reason="stop", usage=usage or Usage(), model=None)
    return Mark(
        letter=letter,
        lane=lane or ("tool" if is_tool else "agent"),
        is_tool=is_tool,
        run_id="r",
        round=round_,
        ending=ending if letter == "F" else None,
    )


def drawn(marks: Iterable[Mark | str], *, width: int = WIDTH) -> list[str]:
    """Letters are marks of the agent, or of the one tool."""
    marble = TurnMarble()
    for each in marks:
        marble.add(mark(each) if isinstance(each, str) else each)
    return list(marble.lines("turn", width=width))


def picture(marks: Iterable[Mark | str], *, width: int = WIDTH) -> list[str]:
    _, *lines = drawn(marks, width=width)
    return list(takewhile(lambda line: not LEGEND.match(line), lines))


def test_pieces_are_one_mark_with_their_number() -> None:
    assert picture("rrrtttttttttttF") == ["  agent --r3--t11--(F,|)"]


def test_a_tool_has_a_lane_of_its_own_whose_dashes_say_how_long_it_runs() -> None:
    assert picture("ccRspppftF") == [
        "  agent --c2--R------------t--(F,|)",
        "  tool           s--p3--f",
    ]


def test_tools_that_run_at_once_are_seen_to() -> None:
    calls = ("s one", "s two", "p one", "p two", "p one", "f two", "x one")
    marks = [mark(call[0], call[2:]) for call in calls]
    assert picture(["R", *marks, "F"]) == [
        "  agent --R---------------------(F,|)",
        "  one        s-----p2--------x",
        "  two           s------p--f",
    ]


def test_calls_of_one_tool_that_start_together_are_counted() -> None:
    assert picture(["R", *"sss", *"ff", *"p", *"f", *"F"]) == [
        "  agent --R----------------(F,|)",
        "  tool       s3--f2--p--f",
    ]


def test_a_call_that_fails_without_a_start_leaves_no_dashes() -> None:
    assert picture("RxRsfF") == [
        "  agent --R-----R--------(F,|)",
        "  tool       x     s--f",
    ]


def test_a_call_that_waits_for_approval_does_not_run_yet() -> None:
    assert picture("RasfF") == [
        "  agent --R-----------(F,|)",
        "  tool       a  s--f",
    ]


def test_an_agent_within_an_agent_has_a_lane_of_its_own() -> None:
    assert picture([mark("t", "inner"), mark("R", "outer"), "F"])[:2] == [
        "  inner --t----------",
        "  outer    --R-------",
    ]


def test_a_turn_that_was_cut_ends_in_another_sign() -> None:
    lines = drawn("tt")
    assert lines == [
        "turn: 1 round, 0 tool runs",
        "  agent --t2--#",
        "  t text; # it ended here, not finished; a number counts them",
    ]


def test_a_turn_without_any_event_can_be_drawn() -> None:
    assert drawn("")[:2] == ["turn: 0 rounds, 0 tool runs", "  model --#"]


def test_the_head_counts_rounds_and_tools_that_ran() -> None:
    marks = [mark("s"), mark("s"), mark("f", round_=1), mark("F", round_=2)]
    assert drawn(marks)[0] == "turn: 3 rounds, 2 tool runs"


def test_the_legend_explains_what_is_there_and_nothing_else() -> None:
    legend = drawn("trF")[2]
    assert legend == "  t text; r reasoning; F finished"


@pytest.mark.parametrize(
    ("usage", "line"),
    [
        (
            Usage(input_tokens=9, output_tokens=0, requests=1),
            "9 prompt tokens, 0 output tokens, 1 request",
        ),
        (
            Usage(
                input_tokens=1,
                cache_read_tokens=2,
                cache_write_tokens=3,
                output_tokens=4,
                reasoning_tokens=5,
                requests=2,
            ),
            (
                "6 prompt tokens, 2 read from cache, 3 written to cache, "
                "4 output tokens, 5 of them reasoning, 2 requests"
            ),
        ),
        (
            Usage(requests=1, sure=False),
            "? prompt tokens, ? output tokens, 1 request; not sure",
        ),
    ],
    ids=["plain", "all", "unknown"],
)
def test_the_usage_is_told_and_what_is_unknown_is_no_zero(
    usage: Usage, line: str
) -> None:
    assert drawn([mark("F", usage=usage)])[-1] == f"  usage: {line}"


def test_a_picture_that_is_too_wide_goes_on_below() -> None:
    lines = picture([*"Rsftrt", *"Rsf" * 2, "F"], width=40)
    assert lines == [
        "  agent --R--------t--r--t--R--------R",
        "  tool       s--f              s--f",
        "",
        "  agent --------(F,|)",
        "  tool    s--f",
    ]


def test_a_name_cannot_break_out_of_its_lane() -> None:
    lines = picture([mark("s", "a\x1b[31m\nb"), mark("s", "x" * 100), "F"], width=60)
    assert [line.split()[0] for line in lines] == [
        "a?[31m?b",
        f"{'x' * 18}..",
        "agent",
    ]


letters = st.sampled_from([*MEANINGS])


@given(
    st.lists(st.tuples(letters, st.sampled_from("uvw")), min_size=1, max_size=60),
    st.integers(40, 120),
)
def test_no_mark_is_lost_and_no_line_is_too_long(
    marks: list[tuple[str, str]], width: int
) -> None:
    lines = picture([mark(letter, lane) for letter, lane in marks], width=width)
    rows = [line[2:].partition(" ")[2].replace("(F,|)", "F") for line in lines]
    found = Counter[str]()
    for letter, count in re.findall(r"([a-zA-Z!?])(\d*)", " ".join(rows)):
        found[letter] += int(count or 1)
    assert found == Counter(letter for letter, _ in marks)
    assert max(map(len, lines)) <= width


def test_the_picture_grows_with_what_happened_and_not_with_what_was_said() -> None:
    assert len(picture("t" * 100_000)) == 1
    many = [mark("s", f"tool{number}") for number in range(1000)]
    assert len(picture(many, width=80)) < 2 * len(many)
