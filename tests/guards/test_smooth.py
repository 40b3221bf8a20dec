from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reactivex.notification import OnCompleted, OnError, OnNext

from rxagent.agent import Agent
from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent, TextDelta
from rxagent.guards import guard, smooth
from rxagent.requests import Origin
from rxagent.testing import Reply, ScriptedModel
from tests.guards.happening import (
    CALL,
    END,
    ROUND,
    VOID,
    completed,
    failed,
    now,
    played,
    text,
    thought,
)
from tests.timers import Timers


def joined(events: list[tuple[float, Any]]) -> str:
    notifications = [each for _, each in events if isinstance(each, OnNext)]
    deltas = [each.value for each in notifications]
    return "".join(each.text for each in deltas if isinstance(each, TextDelta))


def test_words_leave_one_after_the_other_when_the_one_before_has_been_read() -> None:
    slow = smooth(chars_per_second=0.5)
    found, _ = played(slow, [(1, text("one two three four"))], disposed=60)

    assert found == [
        (1, OnNext(text("one"))),
        (7, OnNext(text(" two"))),
        (15, OnNext(text(" three"))),
    ]  # the end of the last word is not seen


def test_a_slow_stream_is_not_held_up() -> None:
    fast = smooth(chars_per_second=10)
    found, _ = played(fast, [(10, text("one ")), (20, text("two ")), (30, text("x"))])
    assert found == [(10, OnNext(text("one"))), (20, OnNext(text(" two")))]


def test_the_end_is_not_later_than_what_it_may_be_and_all_text_is_before_it() -> None:
    """S002-4, S002-27."""
    words = "one two three four five six seven "
    slow = smooth(chars_per_second=0.1, catch_up_s=5)

    found, _ = played(slow, [(1, text(words)), (2, END)], completed(3))

    assert joined(found) == words
    assert found[0] == (1, OnNext(text("one")))
    assert found[-2:] == [(7, OnNext(END)), (7, OnCompleted())]
    times = [time for time, _ in found[1:-2]]
    assert times == sorted(times)
    assert len(set(times)) > 3  # even, and not at once


def test_with_no_time_to_catch_up_the_end_brings_the_rest() -> None:
    slow = smooth(chars_per_second=0.1, catch_up_s=0)
    found, _ = played(slow, [(1, text("one two three")), (2, END)])
    assert [time for time, _ in found] == [1, 2, 2, 2]


def test_a_round_ends_in_time_and_the_next_one_has_its_own_pace() -> None:
    slow = smooth(chars_per_second=0.5, catch_up_s=2)
    events: list[tuple[int, ChatEvent]] = [
        (1, text("one two")),
        (2, ROUND),
        (10, text("aa bb cc")),
        (50, END),
    ]

    found, _ = played(slow, events)

    assert next(time for time, each in found if each == OnNext(ROUND)) <= 4
    assert (10, OnNext(text("aa"))) in found
    assert (14, OnNext(text(" bb"))) in found


def test_completion_without_an_end_is_an_end() -> None:
    found, _ = played(
        smooth(chars_per_second=0.1, catch_up_s=3), [(1, text("a b"))], completed(2)
    )
    assert joined(found) == "a b"
    assert found[-1][1] == OnCompleted()
    assert found[-1][0] <= 5


def test_other_events_keep_their_place_behind_the_text() -> None:
    slow = smooth(chars_per_second=0.5)
    found, _ = played(slow, [(1, text("aa bb")), (2, CALL), (3, thought("hm"))])

    assert found == [
        (1, OnNext(text("aa"))),
        (5, OnNext(text(" bb"))),
        (5, OnNext(CALL)),
        (5, OnNext(thought("hm"))),
    ]
    assert now(smooth(), CALL, text("a"), CALL, END) == [CALL, text("a"), CALL, END]


def test_an_error_comes_at_once_and_drops_the_text_that_waits() -> None:
    """S002-6."""
    broken = OSError("broken")
    found, _ = played(
        smooth(chars_per_second=0.5), [(1, text("one two three"))], failed(2, broken)
    )
    assert found == [(1, OnNext(text("one"))), (2, OnError(broken))]


def test_a_disposal_drops_the_text_that_waits_and_stops_the_timer() -> None:
    """S002-7."""
    clock = Timers()
    found, source = played(
        smooth(chars_per_second=0.5),
        [(1, text("one two three"))],
        disposed=3,
        scheduler=clock,
    )
    assert found == [(1, OnNext(text("one")))]
    assert [each.unsubscribe for each in source.subscriptions] == [103]


def test_void_text_that_nobody_has_seen_is_never_seen() -> None:
    slow = smooth(chars_per_second=0.5)
    events = [text("aa bb cc"), thought("hm"), ROUND, text("dd ee"), CALL]
    unknown: Any = object()

    found, _ = played(
        slow, [*((1, each) for each in (*events, unknown, VOID)), (2, text("ff "))]
    )

    assert joined(found) == "aa bb ccff"
    values = [each.value for _, each in found]
    assert values.index(ROUND) < values.index(unknown) < values.index(VOID)
    assert CALL not in values


def test_there_is_one_timer_at_a_time_and_none_for_a_token() -> None:
    clock = Timers()
    tokens = [(1, text("a ")) for _ in range(1000)]
    played(smooth(chars_per_second=1000), tokens, scheduler=clock, disposed=60)
    of_the_source = len(tokens)

    assert clock.started - of_the_source <= 60  # 2,000 characters, 25 times a second


def test_without_a_clock_all_leaves_as_it_comes() -> None:
    events: list[ChatEvent] = [text("one two three"), thought("hm"), END]
    assert now(smooth(chars_per_second=1), *events) == events


def test_a_word_keeps_its_origin_and_is_not_joined_with_another_ones() -> None:
    ada, bob = Origin(path=("ada",)), Origin(path=("bob",))
    events = [TextDelta(text="a", origin=ada), TextDelta(text="b c", origin=bob)]
    found, _ = played(smooth(chars_per_second=99), [(1, each) for each in events])

    deltas = [each.value for _, each in found]
    assert [(each.text, each.origin.path) for each in deltas] == [
        ("a", ("ada",)),
        ("b", ("bob",)),
    ]


def test_an_agent_on_a_loop_is_smoothed_and_loses_nothing() -> None:
    reply = Reply(deltas=("Once upon ", "a time."))
    fast = smooth(chars_per_second=10_000, catch_up_s=0.01)
    agent = Agent(ScriptedModel(reply), advisors=[guard(fast)])
    assert "".join(agent.stream("hi").text()) == "Once upon a time."


@pytest.mark.parametrize(("pace", "bound"), [(0, 1), (-1, 1), (1, -1)])
def test_no_pace_is_refused(pace: float, bound: float) -> None:
    with pytest.raises(ConfigurationError, match="characters per second"):
        smooth(chars_per_second=pace, catch_up_s=bound)


@given(
    events=st.lists(
        st.sampled_from([text("a"), text(" b c"), text(" "), CALL, thought("d"), ROUND])
    ),
    gap=st.integers(0, 3),
)
def test_nothing_is_lost_and_the_order_is_kept(
    events: list[ChatEvent], gap: int
) -> None:
    timed = [(1 + gap * n, each) for n, each in enumerate(events)]
    end = 1 + gap * len(events)

    found, _ = played(smooth(chars_per_second=0.5, catch_up_s=9), timed, completed(end))

    def neighbours_joined(seen: list[ChatEvent]) -> list[object]:
        out: list[object] = []
        for each in seen:
            if isinstance(each, TextDelta):
                if not out or not isinstance(out[-1], str):
                    out.append("")
                out[-1] = f"{out[-1]}{each.text}"
            else:
                out.append(each)
        return out

    values = [each.value for _, each in found if isinstance(each, OnNext)]
    assert neighbours_joined(values) == neighbours_joined(events)
    assert found[-1][1] == OnCompleted()
    assert found[-1][0] <= end + 9
    for number, (arrived, each) in enumerate(timed):
        if each is ROUND:
            nth = events[: number + 1].count(ROUND)
            left = [time for time, seen in found if seen == OnNext(ROUND)][nth - 1]
            assert left <= arrived + 9
