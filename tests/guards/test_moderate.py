from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import reactivex
from hypothesis import given, settings
from hypothesis import strategies as st
from reactivex import Observable, Observer, Subject, abc
from reactivex import operators as ops
from reactivex.disposable import Disposable
from reactivex.scheduler import NewThreadScheduler
from reactivex.testing import ReactiveTest, TestScheduler
from reactivex.testing.marbles import marbles_testing
from reactivex.testing.subscription import Subscription

from rxagent.advisors import memory, tool_loop, validate
from rxagent.agent import Agent
from rxagent.errors import ConfigurationError, GuardError, TruncatedStreamError
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    TextDelta,
    ToolCallDelta,
)
from rxagent.guards import (
    EventGuard,
    Seconds,
    by_chars,
    by_paragraph,
    by_sentence,
    guard,
    moderate,
)
from rxagent.guards.line import Line
from rxagent.guards.live import Live
from rxagent.guards.verdicts import Answer
from rxagent.memory import MemoryStore
from rxagent.models import Fallback
from rxagent.operators import just, texts
from rxagent.runtime import Flow
from rxagent.testing import (
    Reply,
    ScriptedModel,
    assert_advisor_laws,
    assert_operator_laws,
    every_cut,
    tool_call,
)
from rxagent.tools import tool
from rxagent.types import Exchange
from tests.advisors.remembering import ID, stored
from tests.guards.judge import Judge, Played, end, play, round_end, text, texts_of
from tests.marbles import Letters, comparable, drawn
from tests.timers import Timers

ONE, TWO, THREE = "One is fine. ", "Two is bad. ", "Three is fine. "
SPOKEN = ((10, text(ONE)), (20, text(TWO)), (30, text(THREE)), (40, end("...")))
patient = partial(moderate, timeout_s=None)  # in ticks, checks take long
CALL = ToolCallDelta(index=0, name="weather")


@pytest.fixture
def time() -> TestScheduler:
    return TestScheduler()


# Holding


def test_a_sentence_goes_out_when_it_has_passed(time: TestScheduler) -> None:
    judge = Judge(time)

    played = play(time, patient(judge, final_check=False), *SPOKEN)

    assert played.events == [
        (250, text(ONE)),  # its end is seen at 220
        (260, text(TWO)),
        (270, text(THREE)),
        (270, SPOKEN[-1][1]),
    ]
    assert played.messages[-1] == ReactiveTest.on_completed(270)


def test_the_first_violation_ends_the_stream_and_leaves_the_model(
    time: TestScheduler,
) -> None:
    judge = Judge(time, "bad")

    played = play(time, patient(judge), *SPOKEN, (300, text("Far away.")))

    assert played.events == [(250, text(ONE))]
    assert played.error is not None
    failed_at, error = played.error
    assert failed_at == 260
    assert isinstance(error, GuardError)
    assert (error.guard, error.problem) == ("moderate", "has stopped the answer")
    assert played.subscriptions == [Subscription(200, 260)]
    assert judge.runs == [
        (ONE, 220, 250),
        (TWO, 230, 260),
        (THREE, 240, 260),  # stopped
        (ONE + TWO + THREE, 240, 260),  # stopped, too
    ]


def test_a_violation_waits_for_the_checks_of_what_stands_before_it(
    time: TestScheduler,
) -> None:
    judge = Judge(time, "bad", takes_by={ONE: 100})

    played = play(time, patient(judge), *SPOKEN, (300, text("Far away.")))

    assert played.events == [(320, text(ONE))]
    assert played.error is not None
    assert played.error[0] == 320
    assert played.subscriptions == [Subscription(200, 260)]  # at once
    assert [run for run in judge.runs if run[0] != ONE] == [
        (TWO, 230, 260),
        (THREE, 240, 260),
        (ONE + TWO + THREE, 240, 260),
    ]


@settings(max_examples=40)
@given(
    takes=st.lists(st.integers(1, 90), min_size=6, max_size=6),
    bad=st.sets(st.sampled_from("abcdef"), max_size=3),
    max_concurrency=st.integers(1, 4),
)
def test_what_goes_out_does_not_depend_on_which_check_is_faster(
    takes: list[int], bad: set[str], max_concurrency: int
) -> None:
    time = TestScheduler()
    judge = Judge(time, *bad, takes_by=dict(zip("abcdef", takes, strict=True)))
    plan = patient(judge, window=by_chars(1), max_concurrency=max_concurrency)

    played = play(time, plan, (10, text("abcdef")), (20, end("abcdef")))

    expected = "abcdef"[: min(("abcdef".index(each) for each in bad), default=6)]
    assert played.text == expected
    assert (played.error is not None) == bool(bad)


def test_at_most_so_many_checks_run_at_once_and_text_leaves_in_order(
    time: TestScheduler,
) -> None:
    judge = Judge(time, takes=100, takes_by={"1": 150})
    plan = patient(judge, window=by_chars(1), max_concurrency=3, final_check=False)

    played = play(time, plan, (10, text("123456")), (20, end()))

    assert judge.runs == [
        ("1", 210, 360),
        ("2", 210, 310),
        ("3", 210, 310),
        ("4", 310, 410),
        ("5", 310, 410),
        ("6", 360, 460),
    ]
    assert played.events == [
        *[(360, text(each)) for each in "123"],
        *[(410, text(each)) for each in "45"],
        (460, text("6")),
        (460, end()),
    ]


def test_other_events_keep_their_place_behind_held_text(time: TestScheduler) -> None:
    thought = ReasoningDelta(text="hm")
    plan = patient(Judge(time), final_check=False)

    played = play(
        time,
        plan,
        (5, thought),  # nothing is held
        (10, text("One i")),
        (11, thought),  # within a window
        (12, text("s fine. ")),
        (13, thought),  # at its end, before the end is seen
        (14, text("T")),
        (15, text("wo.")),
        (16, CALL),  # behind the last window
        (17, round_end()),
        (18, CALL),  # while its check runs
        (90, CALL),  # nothing is held any more
        (91, end()),
    )

    assert played.events == [
        (205, thought),
        (244, text("One i")),
        (244, thought),
        (244, text("s fine. ")),
        (244, thought),
        (247, text("T")),
        (247, text("wo.")),
        (247, CALL),
        (247, round_end()),
        (247, CALL),
        (290, CALL),
        (291, end()),
    ]


def test_blank_text_is_not_checked(time: TestScheduler) -> None:
    judge = Judge(time)
    plan = patient(judge, window=by_chars(2))

    played = play(time, plan, (10, text(" \n  \t")), (11, text("")), (20, end()))

    assert judge.asked == []
    assert played.text == " \n  \t"


def test_a_check_sees_the_text_before_as_overlap(time: TestScheduler) -> None:
    judge = Judge(time, "ef")  # cut in two
    plan = patient(judge, window=by_chars(5), overlap=3, final_check=False)

    played = play(time, plan, (10, text("abcdefgh")), (20, text("ijk")), (30, end()))

    assert judge.asked == ["abcde", "cdefghij", "hijk"]
    assert played.text == "abcde"
    assert played.error is not None


# The end


def test_the_whole_text_is_checked_at_the_end(time: TestScheduler) -> None:
    judge = Judge(time, "fine. Two")  # across a border, and there is no overlap

    played = play(time, patient(judge), *SPOKEN)

    assert judge.asked == [ONE, TWO, THREE, ONE + TWO + THREE]
    assert played.text == ONE + TWO + THREE
    assert played.error is not None
    assert not any(isinstance(event, type(end())) for _, event in played.events)


def test_a_text_of_one_window_is_checked_once(time: TestScheduler) -> None:
    judge = Judge(time)
    play(time, patient(judge), (10, text(ONE)), (20, end(ONE)))
    assert judge.asked == [ONE]


def test_each_round_is_a_text_of_its_own(time: TestScheduler) -> None:
    judge = Judge(time)
    plan = patient(judge, window=by_chars(1), overlap=1)

    play(
        time,
        plan,
        (10, text("ab")),
        (20, round_end("ab")),
        (30, text("cd")),
        (40, end("cd")),
    )

    assert judge.asked == ["a", "ab", "ab", "c", "cd", "cd"]


@pytest.mark.parametrize("final", [end("bad"), round_end("bad")])
def test_an_answer_that_came_in_no_pieces_is_checked_by_its_response(
    time: TestScheduler, final: ChatEvent
) -> None:
    judge = Judge(time, "bad")
    played = play(time, patient(judge), (10, final))
    assert (judge.asked, played.events) == (["bad"], [])
    assert played.error is not None


def test_a_stream_that_completes_without_an_end_is_checked_too(
    time: TestScheduler,
) -> None:
    judge = Judge(time)
    played = play(time, patient(judge), (10, text(ONE)), (20, text("Two.")))
    assert judge.asked == [ONE, "Two.", f"{ONE}Two."]
    assert played.text == f"{ONE}Two."
    assert played.messages[-1] == ReactiveTest.on_completed(250)


def test_an_error_of_the_source_passes_at_once_and_drops_what_is_held(
    time: TestScheduler,
) -> None:
    judge, broken = Judge(time), OSError("broken")
    played = play(
        time, patient(judge), *SPOKEN[:3], ending=ReactiveTest.on_error(35, broken)
    )
    assert played.messages == [ReactiveTest.on_error(235, broken)]
    assert judge.runs == [(ONE, 220, 235), (TWO, 230, 235)]


@pytest.mark.parametrize("mode", ["hold", "live"])
@pytest.mark.parametrize("leaves_at", range(205, 300, 5))
def test_leaving_stops_the_model_and_all_checks(mode: Any, leaves_at: int) -> None:
    time = TestScheduler()
    judge = Judge(time)
    plan = patient(judge, mode=mode, max_concurrency=2)

    played = play(time, plan, *SPOKEN, (400, end()), disposed=leaves_at)

    assert played.subscriptions == [Subscription(200, leaves_at)]
    assert all(began < leaves_at for _, began, _ in judge.runs)
    assert all(ended <= leaves_at for _, _, ended in judge.runs)
    assert all(at <= leaves_at for at, _ in played.events)


# Failures


def raising(_: str) -> bool:
    raise ValueError("broken")


BROKEN: dict[str, Any] = {
    "raises": raising,
    "fails": lambda _: reactivex.throw(ValueError("broken")),
    "says nothing": lambda _: reactivex.empty(),
    "says something else": lambda _: None,
    "never answers": lambda _: reactivex.never(),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_check_that_fails_counts_as_a_rejection(
    time: TestScheduler, name: str
) -> None:
    plan = moderate(BROKEN[name], timeout_s=50)
    played = play(time, plan, (10, text("secret")), (20, end()))

    assert played.events == []
    assert played.error is not None
    _, error = played.error
    assert isinstance(error, GuardError)
    assert "since a check failed" in str(error)
    assert "secret" not in str(error)
    assert error.__cause__ is not None


@pytest.mark.parametrize("name", BROKEN)
def test_a_check_that_fails_may_let_the_text_pass_which_is_logged(
    time: TestScheduler, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    plan = moderate(BROKEN[name], timeout_s=50, on_failure="pass")
    with caplog.at_level(logging.WARNING):
        played = play(time, plan, (10, text("a")), (20, end()))

    assert [event for _, event in played.events] == [text("a"), end()]
    assert "moderate lets a text pass: its check failed" in caplog.text


def test_a_check_that_takes_too_long_is_stopped(time: TestScheduler) -> None:
    judge = Judge(time, takes=100)
    played = play(time, moderate(judge, timeout_s=50), (10, text("a")), (20, end()))
    assert judge.runs == [("a", 220, 270)]
    assert played.error is not None
    assert played.error[0] == 270


def test_a_text_as_verdict_says_why(time: TestScheduler) -> None:
    played = play(time, moderate(lambda _: "violence"), (10, text("a")), (20, end()))
    assert played.error is not None
    assert str(played.error[1]) == "guard 'moderate' has stopped the answer: violence"


def test_an_error_of_the_window_is_the_error_of_the_stream(time: TestScheduler) -> None:
    class Breaks:
        def __init__(self, at: str) -> None:
            self._at = at

        def feed(self, said: str, /) -> tuple[str, ...]:
            if self._at == "feed":
                raise ValueError("feed")
            return ()

        def flush(self) -> tuple[str, ...]:
            raise ValueError("flush")

    for at in ("feed", "flush"):
        time = TestScheduler()
        plan = patient(Judge(time), window=partial(Breaks, at))
        played = play(time, plan, (10, text("a")), (20, end()), (30, end()))
        assert played.events == []
        assert played.error is not None
        assert str(played.error[1]) == at


def test_what_a_source_emits_after_it_was_left_is_not_heard() -> None:
    def subscribe(
        observer: abc.ObserverBase[ChatEvent], _: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        observer.on_next(text("bad"))
        observer.on_next(text("more"))
        observer.on_error(OSError())
        return Disposable()

    seen: list[Any] = []
    plan = moderate(lambda _: False, window=by_chars(3))
    plan.operator(Observable(subscribe)).subscribe(seen.append, seen.append)
    assert [type(each) for each in seen] == [GuardError]


def test_a_source_may_fail_while_what_has_passed_goes_out() -> None:
    source, verdict, broken = Subject[ChatEvent](), Subject[bool](), OSError("broken")
    plan = moderate(lambda _: verdict, window=by_chars(1), final_check=False)
    seen: list[Any] = []

    def show(event: ChatEvent) -> None:
        seen.append(event)
        source.on_error(broken)

    source.pipe(plan.operator).subscribe(show, seen.append)
    source.on_next(text("ab"))
    verdict.on_next(True)
    assert seen == [text("a"), broken]


def test_the_first_verdict_on_a_text_counts() -> None:
    def twice(
        observer: abc.ObserverBase[bool], _: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        observer.on_next(True)
        observer.on_next(False)
        return Disposable()

    seen: list[Any] = []
    line = Line(
        lambda _: Observable(twice),
        lambda said: None if said is True else ValueError(said),
        Observer(seen.append, seen.append),
        stop=lambda: None,
        max_concurrency=1,
        at_once=False,
        scheduler=None,
    )
    line.push("a", (text("a"),))
    assert seen == [text("a")]


# Live


def test_live_text_goes_out_at_once_and_its_end_waits(time: TestScheduler) -> None:
    judge = Judge(time)

    played = play(time, patient(judge, mode="live"), *SPOKEN, (41, CALL))

    assert played.events == [
        (210, text(ONE)),
        (220, text(TWO)),
        (230, text(THREE)),
        (270, SPOKEN[-1][1]),
        (270, CALL),
    ]


def test_live_text_that_does_not_pass_is_retracted(time: TestScheduler) -> None:
    judge = Judge(time, "bad", takes_by={ONE: 500})

    played = play(
        time, patient(judge, mode="live"), *SPOKEN[:3], (300, text("Far away."))
    )

    reason = "guard 'moderate' has stopped the answer"
    assert played.events == [
        *((200 + at, event) for at, event in SPOKEN[:3]),
        (260, Retracted(reason=reason)),
    ]
    assert played.error is not None
    assert played.error[0] == 260
    assert played.subscriptions == [Subscription(200, 260)]
    assert judge.runs == [(ONE, 220, 260), (TWO, 230, 260)]


def test_live_text_of_the_next_round_waits_for_the_end_of_the_one_before(
    time: TestScheduler,
) -> None:
    judge = Judge(time, takes=100)
    plan = patient(judge, mode="live")

    played = play(
        time,
        plan,
        (10, text("a")),
        (20, round_end()),
        (30, text("b")),
        (200, text("c")),
        (210, end()),
    )

    assert played.events == [
        (210, text("a")),
        (320, round_end()),
        (320, text("b")),
        (400, text("c")),
        (510, end()),
    ]


def test_a_verdict_out_of_the_very_piece_that_goes_out_retracts_it_after() -> None:
    verdict = Subject[bool]()
    plan = moderate(lambda _: verdict, mode="live", window=by_chars(1))
    seen: list[Any] = []

    def show(event: ChatEvent) -> None:
        if event == text("b"):
            verdict.on_next(False)
        seen.append(event)

    just(text("a"), text("b"), text("c")).pipe(plan.operator).subscribe(
        show, seen.append
    )

    assert seen[:2] == [text("a"), text("b")]
    assert isinstance(seen[2], Retracted)
    assert isinstance(seen[3], GuardError)
    assert len(seen) == 4


def test_nothing_goes_out_after_a_retraction() -> None:
    seen: list[Any] = []
    live, error = Live(Observer(seen.append, seen.append)), ValueError("bad")
    live.emit(text("a"))
    live.retract(error)
    live.emit(text("b"))
    assert seen == [text("a"), Retracted(reason="bad"), error]


# Void text


FIRST = ((10, text("One is bad. ")), (12, text("Two is bad. ")), (14, text("Thr")))
SECOND = ((30, text("Fine. ")), (40, text("More.")), (45, end("Fine. More.")))
VOID = Retracted(reason="it broke off")
MODES = pytest.mark.parametrize("mode", ["hold", "live"])


@MODES
def test_void_text_is_dropped_with_its_checks_and_ends_nothing(mode: Any) -> None:
    time = TestScheduler()
    judge = Judge(time, "bad", takes_by={"One is bad. ": 500})

    played = play(time, patient(judge, mode=mode), *FIRST, (25, VOID), *SECOND)

    assert judge.runs == [
        ("One is bad. ", 212, 225),  # stopped
        ("Two is bad. ", 214, 225),  # stopped, too
        ("Fine. ", 240, 270),
        ("More.", 245, 275),
        ("Fine. More.", 245, 275),
    ]
    live = [(200 + at, event) for at, event in (*FIRST, (25, VOID), *SECOND[:2])]
    held = [(225, VOID), (270, SECOND[0][1]), (275, SECOND[1][1])]
    assert played.events == [
        *(live if mode == "live" else held),
        (275, SECOND[2][1]),
    ]
    assert played.messages[-1] == ReactiveTest.on_completed(275)
    assert played.subscriptions == [Subscription(200, 245)]


@MODES
def test_a_violation_that_is_known_before_its_text_is_void_ends_the_stream(
    time: TestScheduler, mode: Any
) -> None:
    plan = patient(Judge(time, "bad", takes=5), mode=mode)

    played = play(time, plan, *FIRST, (25, VOID), *SECOND)

    assert played.error is not None
    assert played.error[0] == 217
    assert (225, VOID) not in played.events


@MODES
def test_windows_overlap_and_the_whole_begin_anew_behind_void_text(
    time: TestScheduler, mode: Any
) -> None:
    judge = Judge(time)
    plan = patient(judge, window=by_chars(4), overlap=2, mode=mode)

    play(
        time, plan, (10, text("abcdef")), (20, VOID), (30, text("uvwxyz")), (40, end())
    )

    assert judge.runs == [
        ("abcd", 210, 220),
        ("uvwx", 230, 260),
        ("wxyz", 240, 270),
        ("uvwxyz", 240, 270),
    ]


@MODES
def test_a_text_of_one_window_behind_void_text_is_checked_once(
    time: TestScheduler, mode: Any
) -> None:
    judge = Judge(time)
    plan = patient(judge, mode=mode)
    play(time, plan, *FIRST, (25, VOID), (30, text("Fine.")), (40, end("Fine.")))
    assert judge.asked[2:] == ["Fine."]


@MODES
def test_an_answer_in_no_pieces_behind_void_text_is_checked_by_its_response(
    time: TestScheduler, mode: Any
) -> None:
    judge = Judge(time, "bad end")

    played = play(
        time, patient(judge, mode=mode), *FIRST, (25, VOID), (40, end("bad end"))
    )

    assert judge.asked[2:] == ["bad end"]
    assert played.error is not None
    assert played.error[0] == 270


@MODES
def test_void_text_stops_the_timer_of_its_window(
    time: TestScheduler, mode: Any
) -> None:
    judge = Judge(time)
    plan = patient(judge, window=Seconds(20), mode=mode)

    play(time, plan, (10, text("ab")), (25, VOID), (26, text("cd")), (60, end("cd")))

    assert judge.runs == [("cd", 246, 276)]  # and not at 230


@MODES
def test_void_text_leaves_no_timer_behind(mode: Any) -> None:
    time = Timers()
    plan = patient(Judge(time), window=Seconds(20), mode=mode)

    play(time, plan, (10, text("ab")), (25, VOID), (60, end()))

    assert time.started - time.ran_out == 1  # that of the window


@MODES
@pytest.mark.parametrize("before", [(), (*FIRST, (300, round_end("...")))])
def test_a_retraction_where_nothing_waits_passes_at_once(
    time: TestScheduler, mode: Any, before: Any
) -> None:
    judge = Judge(time)
    played = play(time, patient(judge, mode=mode), *before, (400, VOID), (410, end()))
    assert (600, VOID) in played.events


@MODES
def test_a_retraction_of_what_has_passed_passes_at_once(
    time: TestScheduler, mode: Any
) -> None:
    judge = Judge(time)
    plan = patient(judge, mode=mode)

    played = play(time, plan, *FIRST, (43, VOID), (50, text("Fine.")), (60, end()))

    assert (243, VOID) in played.events
    at = 242 if mode == "hold" else 210
    assert played.events[0] == (at, FIRST[0][1])
    assert judge.runs == [
        ("One is bad. ", 212, 242),
        ("Two is bad. ", 214, 243),
        ("Fine.", 260, 290),
    ]


@MODES
def test_a_retraction_may_follow_another_one(time: TestScheduler, mode: Any) -> None:
    judge, again = Judge(time, "bad"), Retracted(reason="again")
    plan = patient(judge, mode=mode)

    played = play(
        time,
        plan,
        *FIRST,
        (20, VOID),
        (20, again),
        (21, text("Bad, too: bad. No")),
        (22, VOID),
        *SECOND,
    )

    voids = [each for each in played.events if isinstance(each[1], Retracted)]
    assert voids == [(220, VOID), (220, again), (222, VOID)]
    assert judge.runs[:3] == [
        ("One is bad. ", 212, 220),
        ("Two is bad. ", 214, 220),
        ("Bad, too: bad. ", 221, 222),
    ]
    assert played.messages[-1] == ReactiveTest.on_completed(275)


def test_other_events_that_wait_behind_void_text_go_out_before_its_retraction(
    time: TestScheduler,
) -> None:
    thought = ReasoningDelta(text="hm")
    plan = patient(Judge(time))

    played = play(
        time,
        plan,
        (10, text("One i")),
        (11, thought),  # within a window
        (12, text("s fine. T")),
        (13, CALL),
        (14, text("")),
        (20, VOID),
        (21, CALL),  # nothing is held any more
        (22, end()),
    )

    assert played.events == [
        (220, thought),
        (220, CALL),
        (220, VOID),
        (221, CALL),
        (222, end()),
    ]


@MODES
def test_a_round_that_has_ended_is_not_void(time: TestScheduler, mode: Any) -> None:
    judge = Judge(time)
    plan = patient(judge, mode=mode)

    played = play(
        time,
        plan,
        (10, text("One. ")),
        (12, round_end("One. ")),
        (14, text("Wrong. W")),
        (16, VOID),
        *SECOND,
    )

    assert judge.runs[:2] == [("One. ", 212, 242), ("Wrong. ", 214, 216)]
    at = 242 if mode == "hold" else 210
    assert played.events[:3] == [
        (at, text("One. ")),
        (242, round_end("One. ")),
        (242, VOID),  # not before: it would make the round void
    ]
    assert played.text == "One. Fine. More."


@MODES
def test_a_violation_in_a_round_that_has_ended_ends_the_stream(
    time: TestScheduler, mode: Any
) -> None:
    played = play(
        time,
        patient(Judge(time, "One"), mode=mode),
        (10, text("One.")),
        (12, round_end("One.")),
        (14, text("Wrong. W")),
        (16, VOID),
        *SECOND,
    )
    assert played.error is not None
    assert played.error[0] == 242


def test_void_text_that_waits_for_its_check_is_never_asked_about(
    time: TestScheduler,
) -> None:
    judge = Judge(time)
    plan = patient(judge, window=by_chars(1), max_concurrency=2, final_check=False)

    play(
        time,
        plan,
        (10, text("a")),
        (11, round_end("a")),
        (12, text("void")),
        (20, VOID),
        (25, text("bcd")),
        (30, end("bcd")),
    )

    assert judge.runs == [
        ("a", 210, 240),
        ("v", 212, 220),
        ("b", 225, 255),
        ("c", 240, 270),
        ("d", 255, 285),
    ]


def test_a_window_is_not_flushed_for_void_text(time: TestScheduler) -> None:
    class Breaks:
        def feed(self, _: str, /) -> tuple[str, ...]:
            return ()

        def flush(self) -> tuple[str, ...]:
            raise ValueError("flush")

    plan = patient(Judge(time), window=Breaks, final_check=False)
    played = play(time, plan, (10, text("a")), (20, VOID), (30, text("b")))
    assert played.events == [(220, VOID)]
    assert played.error is not None
    assert played.error[0] == 230


@pytest.mark.parametrize("window", [by_sentence(), by_chars(3), Seconds(7)])
@MODES
@settings(max_examples=30, deadline=None)
@given(
    # No window of theirs is blank, which needs no check.
    attempts=st.lists(
        st.lists(st.sampled_from(["a", "b. ", "ab.", "ba. b"]), max_size=4), max_size=3
    ),
    said=st.lists(st.text("ab. ", min_size=1, max_size=6), max_size=6),
    bad=st.text("ab", min_size=1, max_size=2),
    overlap=st.integers(0, 3),
    max_concurrency=st.integers(1, 3),
)
def test_void_text_changes_nothing_for_the_text_behind_it(
    window: Any,
    mode: Any,
    attempts: list[list[str]],
    said: list[str],
    bad: str,
    overlap: int,
    max_concurrency: int,
) -> None:
    """Void attempts, and a last one: it is as if that had come alone, but later."""

    def played(spoken: list[tuple[int, ChatEvent]]) -> tuple[Played, list[Any]]:
        time = TestScheduler()
        judge = Judge(time, bad, takes=100)  # longer than an attempt
        plan = patient(
            judge,
            window=window,
            overlap=overlap,
            max_concurrency=max_concurrency,
            mode=mode,
        )
        return play(time, plan, *spoken, disposed=9000), judge.runs

    void: list[ChatEvent] = []
    for attempt in attempts:
        void += [*map(text, attempt), VOID]
    last: list[ChatEvent] = [*map(text, said), end("".join(said))]
    alone, asked = played([*enumerate(last, 1)])
    found, asked_too = played([*enumerate([*void, *last], 1)])

    later = len(void)
    before = [(201 + n, e) for n, e in enumerate(void) if mode == "live" or e == VOID]
    assert found.events == [*before, *((at + later, e) for at, e in alone.events)]
    assert (found.error and found.error[0]) == (alone.error and alone.error[0] + later)
    of_void, of_last = (
        [run for run in asked_too if (run[1] > 200 + later) == is_last]
        for is_last in (False, True)
    )
    assert of_last == [(said, a + later, b + later) for said, a, b in asked]
    assert all(stopped <= 200 + later for _, _, stopped in of_void)


def test_a_retraction_out_of_the_very_piece_that_goes_out_voids_the_rest() -> None:
    source, verdict = Subject[ChatEvent](), Subject[bool]()
    plan = moderate(lambda _: verdict, window=by_chars(2), final_check=False)
    seen: list[Any] = []

    def show(event: ChatEvent) -> None:
        seen.append(event)
        if event == text("a"):
            source.on_next(VOID)
            source.on_next(text("cd"))

    source.pipe(plan.operator).subscribe(show, seen.append)
    for said in "ab":
        source.on_next(text(said))
    verdict.on_next(True)
    assert seen == [text("a"), VOID]
    verdict.on_next(True)
    assert seen == [text("a"), VOID, text("cd")]


def test_nothing_of_void_text_stays_in_the_line() -> None:
    line = Line(
        lambda _: reactivex.never(),
        lambda _: None,
        Observer(),
        stop=lambda: None,
        max_concurrency=2,
        at_once=False,
        scheduler=None,
    )
    for said in "abc":
        line.push(said, (text(said),))
    assert list(line.void()) == [text("a"), text("b"), text("c")]
    assert line.is_empty
    assert len(line.running) == 0


@MODES
def test_verdicts_on_void_text_may_come_on_any_thread(mode: Any) -> None:
    def check(said: str) -> Observable[bool]:
        return reactivex.of(said == "good").pipe(ops.subscribe_on(NewThreadScheduler()))

    plan = moderate(check, window=by_words, mode=mode, final_check=False)
    attempt: list[ChatEvent] = [text("good"), text("good"), VOID]
    events: list[ChatEvent] = [*attempt * 50, text("good"), end("good")]

    seen = list(Flow[ChatEvent].of(just(*events).pipe(plan.operator)))

    last = max(n for n, event in enumerate(seen) if event == VOID)
    assert seen[last:] == [VOID, text("good"), end("good")]
    assert seen.count(VOID) == 50


# Windows of seconds


def test_a_window_of_seconds_has_one_timer_and_begins_with_its_first_text() -> None:
    time = Timers()
    judge = Judge(time, takes=1)
    texts = [(100 + n, text(f"{n % 10}")) for n in range(1, 60)]
    before = len(texts) + 2
    plan = patient(judge, window=Seconds(25.5), final_check=False)

    played = play(time, plan, *texts, (300, end()))

    assert [(began, said) for said, began, _ in judge.runs] == [
        (326.5, "12345678901234567890123456"),
        (352.5, "78901234567890123456789012"),
        (378.5, "3456789"),
    ]
    assert played.text == "".join(event.text for _, event in texts)
    assert time.started - before - 6 == 3  # without those of the judge's answers


def test_a_window_of_seconds_ends_with_its_text(time: TestScheduler) -> None:
    judge = Judge(time)
    plan = patient(judge, window=Seconds(500))
    played = play(time, plan, (10, text("a")), (15, CALL), (20, end()), disposed=2000)
    assert judge.runs == [("a", 220, 250)]
    assert [event for _, event in played.events] == [text("a"), CALL, end()]


def test_text_that_comes_while_a_window_goes_out_begins_the_next_one(
    time: TestScheduler,
) -> None:
    source = Subject[ChatEvent]()
    seen: list[Any] = []

    def show(event: ChatEvent) -> None:
        seen.append((time.clock, event))
        if event == text("a"):
            source.on_next(text("b"))

    plan = moderate(lambda _: True, window=Seconds(10))
    source.pipe(plan.operator).subscribe(show, scheduler=time)
    source.on_next(text("a"))
    time.start()
    assert seen == [(10, text("a")), (20, text("b"))]


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_no_time_is_no_window(seconds: float) -> None:
    with pytest.raises(ConfigurationError, match="more than 0 seconds"):
        Seconds(seconds)


# Kinds of checks


def test_a_plain_function_is_asked_on_the_thread_of_the_stream() -> None:
    here: list[bool] = []

    def check(_: str) -> bool:
        here.append(threading.current_thread() is threading.main_thread())
        return True

    agent = Agent(ScriptedModel(ONE + TWO), advisors=[guard(moderate(check))])
    seen: list[ChatEvent] = []
    agent.stream("hi").subscribe(seen.append)
    assert texts_of(seen) == ONE + TWO
    assert here == [True] * 3


def test_a_coroutine_is_a_check() -> None:
    async def check(said: str) -> bool:
        await asyncio.sleep(0.001)
        return "bad" not in said

    agent = Agent(
        ScriptedModel(ONE + TWO, repeat_last=True), advisors=[guard(moderate(check))]
    )
    seen: list[ChatEvent] = []

    async def read() -> None:
        async for event in agent.stream("hi"):
            seen.append(event)

    with pytest.raises(GuardError):
        asyncio.run(read())
    with pytest.raises(GuardError):
        agent.call("hi").run()
    assert texts_of(seen) == ONE


def test_a_coroutine_that_was_left_before_it_began_is_closed() -> None:
    async def check(_: str) -> bool:
        raise AssertionError

    async def leave() -> None:
        events: list[ChatEvent] = [text("a"), end()]
        stream = just(*events).pipe(moderate(check).operator)
        stream.subscribe().dispose()
        await asyncio.sleep(0)

    asyncio.run(leave())


@settings(max_examples=5, deadline=None)
@given(bad=st.sampled_from(["", "7", "33"]))
def test_verdicts_may_come_on_any_thread(bad: str) -> None:
    words = [f"{n} " for n in range(40)]

    def check(said: str) -> Observable[bool]:
        return reactivex.of(not bad or said != f"{bad} ").pipe(
            ops.observe_on(NewThreadScheduler())
        )

    plan = moderate(check, window=by_words, max_concurrency=8, final_check=False)
    events: list[ChatEvent] = [*map(text, words), end()]
    source = reactivex.from_iterable(events)
    seen: list[Any] = []
    over = threading.Event()

    def fail(error: Exception) -> None:
        seen.append(error)
        over.set()

    source.pipe(plan.operator).subscribe(
        seen.append, fail, over.set, scheduler=NewThreadScheduler()
    )
    assert over.wait(10)
    before = words[: words.index(f"{bad} ")] if bad else words
    assert texts_of(seen) == "".join(before)
    assert isinstance(seen[-1], GuardError) == bool(bad)


class by_words:  # noqa: N801 - as a guard
    """Each piece is a window."""

    def feed(self, said: str, /) -> tuple[str, ...]:
        return (said,)

    def flush(self) -> tuple[str, ...]:
        return ()


# In an agent


def test_no_tool_runs_before_the_text_of_its_round_has_passed() -> None:
    ran: list[str] = []

    @tool
    def act() -> str:
        """Act."""
        ran.append("act")
        return "done"

    time = TestScheduler()
    round_ = Reply(deltas=("I will do a bad thing.",), calls=(tool_call("act"),))
    agent = Agent(
        ScriptedModel(round_, "Done."),
        tools=[act],
        advisors=[tool_loop(), guard(patient(Judge(time, "bad")))],
    )
    errors: list[Exception] = []
    agent.stream("go").subscribe(on_error=errors.append, scheduler=time)
    time.start()

    assert ran == []
    assert [type(error) for error in errors] == [GuardError]


BAD = Reply(deltas=("One bad. ", "Two is. ", "Thr"), gap_s=10.0)
BROKEN_OFF = replace(BAD, error=TruncatedStreamError("it broke off"))
GOOD = Reply(deltas=("All ", "fine."), gap_s=10.0)


@MODES
@pytest.mark.parametrize("voided_by", ["Fallback", "validate"])
def test_the_answer_behind_a_void_one_is_delivered_and_stored(
    time: TestScheduler, mode: Any, voided_by: str
) -> None:
    """The bad text is of a model that broke off, or of an answer that did not fit."""
    judge, store = Judge(time, "bad", takes=100), MemoryStore()
    advisors = [memory(store, on_failure="mark"), guard(patient(judge, mode=mode))]
    model: Exchange = ScriptedModel(BAD, GOOD)
    if voided_by == "Fallback":
        model = Fallback(ScriptedModel(BROKEN_OFF), ScriptedModel(GOOD))
    else:
        advisors.append(validate(check=lambda said: "fine" in said.text, live=True))
    seen: list[ChatEvent] = []
    errors: list[Exception] = []

    events = Agent(model, advisors=advisors, context=ID).stream("hi")
    events.subscribe(seen.append, errors.append, scheduler=time)
    time.start()

    assert errors == []
    [at] = [n for n, each in enumerate(seen) if isinstance(each, Retracted)]
    assert texts_of(seen[:at]) == ("One bad. Two is. Thr" if mode == "live" else "")
    assert texts_of(seen[at:]) == "All fine."
    assert judge.asked == ["One bad. ", "Two is. ", "All fine."]
    assert isinstance(seen[-1], Finished)
    assert [each.text for each in stored(store)] == ["hi", "All fine."]


def test_text_that_nobody_has_seen_is_void_without_an_error(
    time: TestScheduler,
) -> None:
    model = Fallback(ScriptedModel(BROKEN_OFF), ScriptedModel(GOOD))
    agent = Agent(model, advisors=[guard(patient(Judge(time, "bad", takes=100)))])
    seen: list[Any] = []
    said = agent.stream("hi").pipe(texts())
    said.subscribe(seen.append, seen.append, scheduler=time)
    time.start()
    assert "".join(seen) == "All fine."


def test_a_thousand_streams_at_once_do_not_mix(time: TestScheduler) -> None:
    plan = patient(Judge(time, "13. "), window=by_paragraph())
    seen: dict[int, list[Any]] = {}
    for number in range(1000):
        seen[number] = []
        said = f"{number}. \n\n"
        source: Observable[ChatEvent] = time.create_cold_observable(
            ReactiveTest.on_next(10, text(said)),
            ReactiveTest.on_next(20 + number % 7, text(said)),
            ReactiveTest.on_next(40, end(said * 2)),
            ReactiveTest.on_completed(40),
        )
        source.pipe(plan.operator).subscribe(
            seen[number].append, seen[number].append, scheduler=time
        )
    time.start()

    for number, found in seen.items():
        said = f"{number}. \n\n"
        if "13. " in said:
            assert [type(each) for each in found] == [GuardError]
        else:
            assert found == [text(said), text(said), end(said * 2)]


def test_a_check_of_each_sentence_at_every_cut() -> None:
    """The handed case guard-moderation-of-partial-text."""
    for pieces in every_cut("All fine here. Bad thing. More."):
        time = TestScheduler()
        judge = Judge(time, "Bad thing.", takes=50)
        said = [(n, text(piece)) for n, piece in enumerate(pieces, start=1)]

        played = play(time, patient(judge), *said, (40, end("...")))

        assert played.text == "All fine here. "
        assert played.error is not None


# Laws


CHECKS: dict[str, Callable[[str], Answer]] = {
    "plain": lambda _: True,
    "observable": lambda _: just(True),
}


@pytest.mark.parametrize("mode", ["hold", "live"])
@pytest.mark.parametrize("window", [by_sentence(), by_chars(2), Seconds(15)])
@pytest.mark.parametrize("name", ["plain", "observable"])
def test_it_holds_the_laws_of_advisors(name: str, window: Any, mode: Any) -> None:
    """Laws 1, 2, 5, 7, 8."""
    assert_advisor_laws(guard(moderate(CHECKS[name], window=window, mode=mode)))


@pytest.mark.parametrize("mode", ["hold", "live"])
def test_it_holds_the_laws_of_operators(mode: Any) -> None:
    plan = moderate(lambda _: True, mode=mode)
    events: list[ChatEvent] = [text("a. "), CALL, text("B."), end("a. B.")]
    assert_operator_laws(plan.operator, events)


@settings(max_examples=150)
@given(
    said=st.text("ab.", min_size=1, max_size=24),
    cuts=st.sets(st.integers(1, 23)),
    bad=st.text("ab.", min_size=1, max_size=4),
    size=st.integers(1, 6),
    more=st.integers(0, 4),
    takes=st.integers(0, 30),
)
def test_nothing_of_the_window_that_ends_a_violation_ever_goes_out(
    said: str, cuts: set[int], bad: str, size: int, more: int, takes: int
) -> None:
    """For each cut, and each violation that fits into the overlap and one more."""
    time = TestScheduler()
    plan = patient(
        Judge(time, bad, takes=takes),
        window=by_chars(size),
        overlap=len(bad) - 1 + more,
        final_check=False,
    )
    borders = [0, *sorted(cut for cut in cuts if cut < len(said)), len(said)]
    pieces = [said[a:b] for a, b in pairwise(borders)]
    events = [(n, text(piece)) for n, piece in enumerate(pieces, start=1)]

    played = play(time, plan, *events, (50, end(said)))

    at = said.find(bad)
    if at < 0:
        assert played.text == said
        assert played.error is None
    else:
        window = (at + len(bad) - 1) // size
        assert played.text == said[: window * size]
        assert played.error is not None


@pytest.mark.parametrize(
    "options",
    [
        {"overlap": -1},
        {"max_concurrency": 0},
        {"timeout_s": 0},
        {"mode": "fast"},
        {"on_failure": "ignore"},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        moderate(lambda _: True, **options)
    with pytest.raises(ConfigurationError, match="takes a function"):
        moderate("bad words")  # type: ignore[arg-type]


def test_the_marble_of_the_docstring_is_what_happens() -> None:
    given_, expected = drawn(moderate.__doc__)
    assert given_ is not None
    letters: Letters = {"a": text("Ada. "), "b": text("Bob. "), "c": text("Coy. ")}
    letters["F"] = end("Ada. Bob. Coy. ")

    def check(said: str) -> Observable[bool]:
        return reactivex.timer(3.0).pipe(ops.map(lambda _: "Bob" not in said))

    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        got = start(cold(given_, letters, None).pipe(moderate(check).operator))
        error = GuardError("moderate", "has stopped the answer")
        assert comparable(got) == comparable(exp(expected, letters, error))


def test_it_is_named_in_the_chain() -> None:
    plan = moderate(lambda _: True)
    assert isinstance(plan, EventGuard)
    agent = Agent(ScriptedModel(), advisors=[guard(plan)])
    assert "moderate" in agent.describe()
    assert isinstance(text("a"), TextDelta)
