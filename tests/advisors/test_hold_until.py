from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest
import reactivex
from hypothesis import given, settings
from hypothesis import strategies as st
from reactivex import Observable, Subject, abc
from reactivex import operators as ops
from reactivex.disposable import Disposable
from reactivex.scheduler import NewThreadScheduler
from reactivex.testing import ReactiveTest, TestScheduler
from reactivex.testing.marbles import marbles_testing
from reactivex.testing.subscription import Subscription

from rxagent.advisors import REFUSAL, hold_until, tool_loop
from rxagent.agent import Agent
from rxagent.context import Context
from rxagent.errors import AdvisorError, ConfigurationError
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    StageFinished,
    TextDelta,
    ToolStarted,
)
from rxagent.guards.verdicts import Answer, Verdict
from rxagent.messages import UserMessage
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow
from rxagent.testing import Reply, ScriptedModel, assert_advisor_laws, tool_call
from rxagent.tools import tool
from rxagent.types import Advisor
from rxagent.usage import Usage
from tests.guards.judge import end, text
from tests.marbles import Letters, comparable, drawn

on_next, on_error, on_completed = (
    ReactiveTest.on_next,
    ReactiveTest.on_error,
    ReactiveTest.on_completed,
)
ASKED = ChatRequest(messages=(UserMessage.of("hi"),), context=Context({"tenant": "a"}))
ANSWER = (on_next(10, text("a")), on_next(20, text("b")), on_next(30, end("ab")))


@pytest.fixture
def time() -> TestScheduler:
    return TestScheduler()


def says(verdict: object, *, after: float) -> Any:
    def check(_: ChatRequest) -> Observable[Any]:
        return reactivex.timer(after).pipe(ops.map(lambda _: verdict))

    return check


def play(
    time: TestScheduler, advisor: Advisor, *messages: Any, disposed: float = 1000
) -> tuple[list[Any], list[Any]]:
    """What comes of an answer, and when the model was left; subscribed at 200."""
    model = time.create_cold_observable(*messages)
    exchange = advisor(lambda requests: requests.pipe(ops.flat_map(lambda _: model)))
    found = time.start(lambda: just(ASKED).pipe(exchange), disposed=disposed)
    return found.messages, model.subscriptions


def refused(text_: str, usage: Usage) -> list[ChatEvent]:
    said = ChatResponse(
        message=end(text_).response.message,
        finish_reason="blocked",
        blocked_by="hold_until",
        context=ASKED.context,
        usage=usage,
    )
    return [TextDelta(text=text_), Finished(response=said)]


def test_the_model_is_asked_at_once_and_held_until_the_verdict(
    time: TestScheduler,
) -> None:
    advisor = hold_until(says(True, after=15))
    found, left = play(time, advisor, *ANSWER, on_completed(30))
    assert found == [
        on_next(215, text("a")),
        on_next(220, text("b")),
        on_next(230, end("ab")),
        on_completed(230),
    ]
    assert left == [Subscription(200, 230)]


def test_an_answer_that_is_there_before_the_verdict_is_held_whole(
    time: TestScheduler,
) -> None:
    advisor = hold_until(says(True, after=25))
    found, _ = play(time, advisor, on_next(10, text("a")), on_completed(20))
    assert found == [on_next(225, text("a")), on_completed(225)]


@pytest.mark.parametrize(
    ("verdict", "said"), [(False, REFUSAL), ("", REFUSAL), ("Not today.", "Not today.")]
)
def test_a_request_that_does_not_pass_leaves_the_model_and_is_refused(
    time: TestScheduler, verdict: Verdict, said: str
) -> None:
    found, left = play(
        time, hold_until(says(verdict, after=15)), *ANSWER, on_completed(30)
    )
    unknown = Usage(requests=1, sure=False)
    expected = [on_next(215, each) for each in refused(said, unknown)]
    assert found == [*expected, on_completed(215)]
    assert left == [Subscription(200, 215)]


def test_what_a_whole_answer_has_cost_is_known(time: TestScheduler) -> None:
    cost = Usage(input_tokens=3, output_tokens=2, requests=1)
    whole = Finished(
        response=ChatResponse(message=end("ab").response.message, usage=cost)
    )
    found, _ = play(
        time, hold_until(says(False, after=25)), on_next(10, whole), on_completed(10)
    )
    assert found[1] == on_next(225, refused(REFUSAL, cost)[1])


def test_a_plain_function_is_asked_first_and_then_the_model_or_not() -> None:
    model = ScriptedModel("fine")
    no, yes = hold_until(lambda _: False), hold_until(lambda _: True)

    response = Agent(model, advisors=[no]).call("hi").run()
    assert (response.finish_reason, response.blocked_by) == ("blocked", "hold_until")
    assert (response.transcript, response.usage) == ((), Usage())
    assert model.requests == []

    assert Agent(model, advisors=[yes]).call("hi").run().text == "fine"


def test_an_error_of_the_model_passes_at_once_without_what_is_held(
    time: TestScheduler,
) -> None:
    broken = OSError("broken")
    found, _ = play(
        time, hold_until(says(True, after=25)), ANSWER[0], on_error(20, broken)
    )
    assert found == [on_error(220, broken)]


def test_pieces_that_are_void_before_the_verdict_are_never_seen(
    time: TestScheduler,
) -> None:
    void, found_at = Retracted(reason="it broke off"), StageFinished(stage="s", value=1)
    said = (text("Wro"), ReasoningDelta(text="hm"), found_at, text("ng"), void)
    answer = [on_next(n, each) for n, each in enumerate(said, 1)] + list(ANSWER)

    found, _ = play(time, hold_until(says(True, after=15)), *answer)
    late, _ = play(TestScheduler(), hold_until(says(True, after=2.5)), *answer)

    assert found == [
        on_next(215, found_at),
        on_next(215, void),
        on_next(215, text("a")),
        on_next(220, text("b")),
        on_next(230, end("ab")),
    ]
    seen = [each.value.value for each in late]
    assert seen == [*said, text("a"), text("b"), end("ab")]


def rude(*steps: Callable[[abc.ObserverBase[ChatEvent]], object]) -> Any:
    """A model that does not notice that it was left, as it emits while subscribing."""

    def subscribe(
        observer: abc.ObserverBase[ChatEvent], _: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        for step in steps:
            step(observer)
        return Disposable()

    return lambda _: Observable(subscribe)


@pytest.mark.parametrize("ends", [on_error, on_completed])
def test_what_a_model_emits_after_it_was_left_is_not_heard(ends: Any) -> None:
    verdict = Subject[bool]()
    model = rude(
        lambda it: it.on_next(text("a")),
        lambda _: verdict.on_next(False),
        lambda it: it.on_next(text("b")),
        lambda it: it.on_error(OSError()) if ends is on_error else it.on_completed(),
    )
    seen: list[Any] = []
    just(ASKED).pipe(hold_until(lambda _: verdict)(model)).subscribe(
        seen.append, seen.append
    )
    assert seen == refused(REFUSAL, Usage(requests=1, sure=False))


def test_a_verdict_after_the_error_of_the_model_is_not_heard() -> None:
    verdict, broken = Subject[bool](), OSError("broken")
    model = rude(lambda it: it.on_error(broken), lambda _: verdict.on_next(False))
    seen: list[Any] = []
    just(ASKED).pipe(hold_until(lambda _: verdict)(model)).subscribe(
        seen.append, seen.append
    )
    assert seen == [broken]


BROKEN: dict[str, Any] = {
    "raises": lambda _: 1 / 0,
    "fails": lambda _: reactivex.throw(ValueError("broken")),
    "says nothing": lambda _: reactivex.empty(),
    "says something else": lambda _: None,
    "never answers": lambda _: reactivex.never(),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_check_that_fails_blocks_unless_it_is_told_otherwise(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    for on_failure, blocked in (("stop", True), ("pass", False)):
        caplog.clear()
        advisor = hold_until(BROKEN[name], timeout_s=50, on_failure=on_failure)  # type: ignore[arg-type]
        with caplog.at_level(logging.WARNING):
            found, _ = play(TestScheduler(), advisor, *ANSWER, on_completed(30))
        last = found[-2].value.value
        assert (last.response.blocked_by == "hold_until") == blocked
        assert "its check failed" in caplog.text


@pytest.mark.parametrize("leaves_at", range(205, 260, 10))
def test_leaving_stops_the_check_and_the_model(
    time: TestScheduler, leaves_at: int
) -> None:
    verdict = time.create_cold_observable(on_next(22, True))
    _, left = play(time, hold_until(lambda _: verdict), ANSWER[0], disposed=leaves_at)
    assert left == [Subscription(200, leaves_at)]
    assert verdict.subscriptions == [Subscription(200, min(222, leaves_at))]


# Tools


class Acts:
    """An agent whose model calls a tool, and when the tool ran."""

    def __init__(self, time: TestScheduler, *advisors: Advisor) -> None:
        self.ran: list[float] = []
        self.seen: list[Any] = []
        self.model = ScriptedModel(
            Reply(deltas=("I will.",), calls=(tool_call("act"),)),
            Reply(deltas=("Done.",)),
        )

        @tool
        def act() -> Observable[str]:
            """Act."""
            self.ran.append(time.clock)
            return just("done")

        self.agent = Agent(self.model, tools=[act], advisors=advisors)
        self.agent.stream("go").subscribe(
            self.seen.append, self.seen.append, scheduler=time
        )
        time.start()


@settings(max_examples=30)
@given(after=st.integers(1, 100), verdict=st.booleans())
def test_no_tool_runs_before_the_verdict(after: int, verdict: bool) -> None:
    time = TestScheduler()
    acts = Acts(
        time, tool_loop(), hold_until(says(verdict, after=after), timeout_s=None)
    )
    assert acts.ran == ([after] if verdict else [])
    last = acts.seen[-1]
    assert isinstance(last, Finished)
    assert last.response.text == ("Done." if verdict else REFUSAL)
    assert last.response.blocked_by == (None if verdict else "hold_until")


def test_it_asks_once_a_turn(time: TestScheduler) -> None:
    asked: list[ChatRequest] = []

    def check(request: ChatRequest) -> bool:
        asked.append(request)
        return True

    acts = Acts(time, tool_loop(), hold_until(check))
    assert len(asked) == 1
    assert len(acts.model.requests) == 2


def test_a_turn_that_it_blocks_adds_nothing_to_the_conversation(
    time: TestScheduler,
) -> None:
    acts = Acts(time, tool_loop(), hold_until(says(False, after=5)))
    assert acts.seen[-1].response.transcript == ()


@pytest.mark.parametrize("after", [5, 0.5])
@pytest.mark.parametrize("places", ["before the loop", "no loop in the list"])
def test_left_of_the_loop_it_is_an_error_before_the_first_tool_runs(
    time: TestScheduler, places: str, after: float
) -> None:
    advisor = hold_until(says(True, after=after))
    loop = [tool_loop()] if places == "before the loop" else []
    acts = Acts(time, advisor, *loop)
    assert acts.ran == []
    assert isinstance(acts.seen[-1], AdvisorError)
    assert "write advisors=[tool_loop(), hold_until(check)]" in str(acts.seen[-1])
    assert not any(isinstance(each, ToolStarted) for each in acts.seen)


def test_left_of_the_loop_it_is_the_same_error_when_the_verdict_was_there(
    time: TestScheduler,
) -> None:
    model = ScriptedModel(Reply(calls=(tool_call("act"),), first_s=50))
    errors: list[Exception] = []

    @tool
    def act() -> str:
        """Act."""
        raise AssertionError

    advisors = [hold_until(says(True, after=5)), tool_loop()]
    Agent(model, tools=[act], advisors=advisors).stream("go").subscribe(
        on_error=errors.append, scheduler=time
    )
    time.start()
    assert [type(error) for error in errors] == [AdvisorError]


# Kinds, threads, laws


def test_a_coroutine_and_another_agent_may_be_the_check() -> None:
    async def no(_: ChatRequest) -> bool:
        return False

    agent = Agent(ScriptedModel("fine"), advisors=[hold_until(no)])
    assert agent.call("hi").run().blocked_by == "hold_until"


@settings(max_examples=10, deadline=None)
@given(verdict=st.booleans())
def test_the_verdict_may_come_on_any_thread(verdict: bool) -> None:
    def check(_: ChatRequest) -> Answer:
        return reactivex.of(verdict).pipe(ops.observe_on(NewThreadScheduler()))

    events: list[ChatEvent] = [*(text(f"{n}") for n in range(500)), end()]
    seen: list[Any] = []
    over = threading.Event()
    advised = hold_until(check)(lambda _: reactivex.from_iterable(events))
    just(ASKED).pipe(advised).subscribe(
        seen.append, seen.append, over.set, scheduler=NewThreadScheduler()
    )
    assert over.wait(10)
    if verdict:
        assert seen == events
    else:
        assert seen[-1].response.blocked_by == "hold_until"


@pytest.mark.parametrize("verdict", [True, False])
def test_it_holds_the_laws(verdict: bool) -> None:
    assert_advisor_laws(hold_until(lambda _: verdict))
    assert_advisor_laws(hold_until(lambda _: just(verdict)))


def test_it_holds_what_flow_reads() -> None:
    model = ScriptedModel("ab")
    source = just(ASKED).pipe(hold_until(says(True, after=0.01))(model))
    assert "".join(Flow[ChatEvent].of(source).text()) == "ab"


@pytest.mark.parametrize("options", [{"timeout_s": 0}, {"on_failure": "ignore"}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        hold_until(lambda _: True, **options)
    with pytest.raises(ConfigurationError, match="takes a function"):
        hold_until(True)  # type: ignore[arg-type]


def test_the_marble_of_the_docstring_is_what_happens() -> None:
    given_, expected = drawn(hold_until.__doc__)
    assert given_ is not None
    letters: Letters = {"q": ASKED, "a": text("a"), "b": text("b"), "F": end("ab")}
    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        model = cold("--a--b--------F|", letters, None)
        advised = hold_until(says(True, after=6.0))(
            lambda requests: requests.pipe(ops.flat_map(lambda _: model))
        )
        got = start(cold(given_, letters, None).pipe(advised))
        assert comparable(got) == comparable(exp(expected, letters, None))
