from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.notification import OnCompleted, OnError, OnNext
from reactivex.scheduler import NewThreadScheduler

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.chain import around
from rxagent.errors import ConfigurationError, GuardError
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.guards import cap_chars, guard, hold_release
from rxagent.messages import UserMessage
from rxagent.operators import concat_each, just
from rxagent.requests import ChatRequest
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import tool
from rxagent.types import Advisor, Exchange
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

BROKEN = OSError("the model broke")


def later(verdict: bool | str | None, seconds: float = 30) -> Any:
    return lambda _: reactivex.timer(seconds).pipe(ops.map(lambda _: verdict))


def test_nothing_is_seen_before_the_end_and_all_of_it_in_order_if_it_passes() -> None:
    """S002-21, S002-27."""
    asked: list[str] = []
    events: list[ChatEvent] = [thought("hm"), text("a"), CALL, text("b")]

    found, _ = played(
        hold_release(asked.append),
        [*enumerate(events, 1), (10, END)],
        completed(20),
    )

    released = [(10, OnNext(each)) for each in (*events, END)]
    assert found == [*released, (20, OnCompleted())]
    assert asked == ["ab"]


@pytest.mark.parametrize("verdict", [None, True])
def test_none_and_true_let_pass(verdict: bool | None) -> None:
    events: list[ChatEvent] = [text("a"), thought("hm"), END]
    assert now(hold_release(lambda _: verdict), *events) == events


def test_a_text_stands_for_an_answer_that_does_not_pass() -> None:
    """S002-21, S002-22: one replacement, and no reasoning."""
    guarded = hold_release(lambda said: f"not {said}")

    found = now(guarded, thought("hm"), text("a"), text("b"), CALL, thought("so"), END)

    assert found == [text("not ab"), END]


def test_what_is_no_piece_of_the_answer_leaves_all_the_same() -> None:
    unknown: Any = object()
    found = now(hold_release(lambda _: "no"), thought("hm"), unknown, text("a"), END)
    assert found == [unknown, text("no"), END]


def test_false_is_an_error_that_says_what_the_answer_has_cost() -> None:
    with pytest.raises(GuardError, match="did not pass") as at:
        now(hold_release(lambda _: False), text("secret"), END)
    assert at.value.guard == "hold_release"
    assert at.value.usage == END.response.usage
    assert "secret" not in str(at.value)


@pytest.mark.parametrize("verdict", [False, "because of rule 3"])
def test_a_replacement_is_told_in_place_of_what_the_check_says(
    verdict: bool | str,
) -> None:
    guarded = hold_release(lambda _: verdict, replacement="I may not.")
    assert now(guarded, text("a"), END) == [text("I may not."), END]


def test_a_verdict_that_takes_time_holds_the_end_and_all_behind_it() -> None:
    found, _ = played(
        hold_release(later(None)),
        [(1, text("a")), (2, ROUND), (3, text("b")), (4, END)],
        completed(5),
    )

    assert found == [
        (32, OnNext(text("a"))),
        (32, OnNext(ROUND)),
        (62, OnNext(text("b"))),
        (62, OnNext(END)),
        (62, OnCompleted()),
    ]


def test_what_waits_behind_a_stop_is_not_checked() -> None:
    asked: list[str] = []

    def check(said: str) -> Any:
        asked.append(said)
        return later(None)(said) if said == "a" else False

    events: list[ChatEvent] = [text("a"), ROUND, text("b"), ROUND, text("c"), END]
    found, _ = played(hold_release(check), list(enumerate(events, 1)), completed(9))

    assert asked == ["a", "b"]
    assert [each.kind for _, each in found] == ["N", "N", "E"]


def test_each_round_is_checked_by_itself() -> None:
    """S002-9."""
    asked: list[str] = []
    guarded = hold_release(asked.append)

    now(guarded, text("a"), ROUND, thought("hm"), ROUND, text("b"), text("c"), END)

    assert asked == ["a", "ab", "bc"]  # a round in no pieces: what its response says


def test_without_an_end_the_completion_is_one() -> None:
    """S002-4."""
    assert now(hold_release(lambda _: None), text("a")) == [text("a")]
    assert now(hold_release(lambda _: "b"), text("a")) == [text("b")]
    found, _ = played(hold_release(later(None)), [(1, text("a"))], completed(2))
    assert found == [(32, OnNext(text("a"))), (32, OnCompleted())]


def test_an_error_drops_what_is_held_and_stops_the_check() -> None:
    """S002-6."""
    asking: list[str] = []
    check = later(None)

    def watched(said: str) -> Any:
        return check(said).pipe(ops.finally_action(lambda: asking.append("stopped")))

    before, _ = played(hold_release(watched), [(1, text("a"))], failed(5, BROKEN))
    during, _ = played(
        hold_release(watched), [(1, text("a")), (2, ROUND)], failed(5, BROKEN)
    )

    assert before == during == [(5, OnError(BROKEN))]
    assert asking == ["stopped"]


def test_a_disposal_drops_what_is_held_and_stops_the_check() -> None:
    """S002-7."""
    asking: list[str] = []
    check = later(None)

    def watched(said: str) -> Any:
        return check(said).pipe(ops.finally_action(lambda: asking.append("stopped")))

    found, source = played(
        hold_release(watched), [(1, text("a")), (2, ROUND)], disposed=10
    )

    assert (found, asking) == ([], ["stopped"])
    assert [each.unsubscribe for each in source.subscriptions] == [110]


def test_what_is_retracted_is_not_checked() -> None:
    asked: list[str] = []
    unknown: Any = object()

    found = now(hold_release(asked.append), text("a"), unknown, VOID, text("b"), END)

    assert found == [unknown, VOID, text("b"), END]
    assert asked == ["b"]


def test_what_is_retracted_while_the_round_before_is_checked_is_not_checked() -> None:
    asked: list[str] = []
    check = later(None)

    def watched(said: str) -> Any:
        asked.append(said)
        return check(said)

    events: list[ChatEvent] = [text("a"), ROUND, text("void"), VOID, text("b"), END]
    found, _ = played(hold_release(watched), [*enumerate(events, 1)])

    assert [each.value for _, each in found if each.kind == "N"] == [
        *events[:2],
        *events[3:],
    ]
    assert asked == ["a", "b"]


def test_an_answer_that_came_in_no_pieces_is_checked_by_its_response() -> None:
    assert now(hold_release(lambda said: f"not {said}"), END) == [text("not ab"), END]
    with pytest.raises(GuardError):
        now(hold_release(lambda _: False), END)


@pytest.mark.parametrize(
    ("check", "kind"),
    [
        (lambda _: 1 / 0, "ZeroDivisionError"),
        (lambda _: reactivex.throw(OSError("down")), "OSError"),
        (lambda _: reactivex.empty(), "LookupError"),
        (lambda _: 3, "TypeError"),
        (lambda _: just(3), "TypeError"),
    ],
)
def test_a_check_that_fails_stops_the_answer_unless_told_otherwise(
    check: Callable[[str], Any], kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(GuardError, match=f"its check failed \\({kind}\\)") as at:
        now(hold_release(check, replacement="sorry"), text("a"), END)
    assert type(at.value.__cause__).__name__ == kind

    with caplog.at_level(logging.WARNING, "rxagent.guards.hold_release"):
        found = now(hold_release(check, on_failure="pass"), text("a"), END)
    assert found == [text("a"), END]
    assert kind in caplog.text


def test_a_check_that_takes_too_long_fails() -> None:
    guarded = hold_release(later(None), timeout_s=10)
    [(time, end)], source = played(guarded, [(1, text("a")), (2, END)])

    assert time == 12
    assert isinstance(end.exception, GuardError)
    assert [each.unsubscribe for each in source.subscriptions] == [112]


def test_a_coroutine_is_a_check() -> None:
    async def check(said: str) -> str:
        await asyncio.sleep(0)
        return f"not {said}"

    agent = Agent(ScriptedModel("hello"), advisors=[guard(hold_release(check))])

    assert list(agent.stream("hi").text()) == ["not hello"]


def test_a_verdict_on_another_thread_keeps_the_order() -> None:
    def check(_: str) -> Observable[None]:
        return just(None).pipe(ops.subscribe_on(NewThreadScheduler()))

    rounds: list[ChatEvent] = [
        each for n in range(100) for each in (text(f"{n}"), ROUND)
    ]
    flow = just(*rounds, text("x"), END).pipe(hold_release(check).operator)

    assert flow.pipe(ops.to_list()).run() == [*rounds, text("x"), END]


def test_a_flush_into_a_transform_that_stops_early_emits_no_more() -> None:
    """M-63: three held tokens, then take 1: one token, one completion."""
    ends: list[str] = []
    seen: list[ChatEvent] = []

    events: list[ChatEvent] = [text("a"), text("b"), text("c"), END]
    just(*events).pipe(hold_release(lambda _: None).operator, ops.take(1)).subscribe(
        seen.append, lambda _: ends.append("error"), lambda: ends.append("end")
    )

    assert (seen, ends) == ([text("a")], ["end"])


def test_the_response_is_what_the_model_said() -> None:
    """S002-12."""
    model = ScriptedModel("bad", repeat_last=True)
    agent = Agent(model, advisors=[guard(hold_release(lambda _: "no"))])

    *_, end = agent.stream("hi")

    assert isinstance(end, Finished)
    assert end.response.text == "bad"
    assert agent.call("hi").run().text == "bad"


def test_it_checks_what_the_guards_before_it_let_out() -> None:
    """S002-8."""
    asked: list[str] = []
    holding, short = hold_release(asked.append), cap_chars(3)

    for guards in ((short, holding), (holding, short)):
        agent = Agent(ScriptedModel("Hello"), advisors=[guard(*guards)])
        assert list(agent.stream("hi").text()) == ["Hel…"]

    assert asked == ["Hel…", "Hello"]


def test_tools_wait_for_the_check_and_false_keeps_them_from_running() -> None:
    ran: list[str] = []

    @tool
    def send() -> str:
        """Send it."""
        ran.append("send")
        return "sent"

    reply = Reply(deltas=("secret",), calls=(tool_call("send"),))
    loop_and_guard = [tool_loop(), guard(hold_release(lambda said: said != "secret"))]
    agent = Agent(ScriptedModel(reply), tools=[send], advisors=loop_and_guard)

    with pytest.raises(GuardError):
        agent.call("hi").run()
    assert ran == []


def test_a_rejected_answer_is_asked_again_and_never_seen() -> None:
    """S002-24: delivery is held back here, and the answer is judged there."""

    def ask_again(accept: Callable[[str], bool]) -> Advisor:
        def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
            def judge(event: ChatEvent) -> Observable[ChatEvent]:
                if not isinstance(event, Finished) or accept(event.response.text):
                    return just(event)
                more = UserMessage.of("Again, please.")
                again = ChatRequest(messages=(*request.messages, more))
                return just(again).pipe(inner)

            return just(request).pipe(inner, concat_each(judge))

        return around(handle)

    def good(said: str) -> bool:
        return said != "bad"

    model = ScriptedModel("bad", "fine")
    quiet = guard(hold_release(lambda said: None if good(said) else "(one moment)"))
    agent = Agent(model, advisors=[ask_again(good), quiet])

    events = list(agent.stream("hi"))

    assert [each.text for each in events if isinstance(each, TextDelta)] == [
        "(one moment)",
        "fine",
    ]
    assert isinstance(events[-1], Finished)
    assert events[-1].response.text == "fine"
    assert len(model.requests) == 2


def test_what_makes_no_sense_is_refused() -> None:
    check: Any = None
    with pytest.raises(ConfigurationError, match="timeout_s"):
        hold_release(lambda _: None, timeout_s=0)
    with pytest.raises(ConfigurationError, match="on_failure"):
        hold_release(lambda _: None, on_failure=check)
    with pytest.raises(ConfigurationError, match="check takes a function"):
        hold_release(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
