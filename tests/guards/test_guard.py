"""Seed 002: what is delivered is guarded, and what was said stays.

The seven anchors of its section 6 are the tests of `TestAnchors`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import cast

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing.marbles import marbles_testing

from rxagent import Agent
from rxagent.advisors import tool_loop
from rxagent.chain import after
from rxagent.errors import ConfigurationError, GuardError
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    RoundFinished,
    TextDelta,
    ToolCallDelta,
    ToolFinished,
)
from rxagent.guards import EventGuard, block, guard, redact
from rxagent.messages import AssistantMessage
from rxagent.operators import concat_each, just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.testing import Reply, ScriptedModel, assert_advisor_laws, tool_call
from rxagent.tools import tool
from rxagent.types import Advisor
from tests.marbles import Letters, comparable, drawn

END = Finished(response=ChatResponse(message=AssistantMessage.of("raw")))


class Batch:
    """Joins three pieces, and what is left."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def feed(self, text: str, /) -> list[str]:
        self._held.append(text)
        return self.flush() if len(self._held) == 3 else []

    def flush(self) -> list[str]:
        ready = ["".join(self._held)] if self._held else []
        self._held.clear()
        return ready


class Swallow:
    """Lets nothing out."""

    def feed(self, text: str, /) -> list[str]:
        return []

    def flush(self) -> list[str]:
        return []


def appending(letter: str) -> Callable[[], Generator[str | None, str | None, None]]:
    def appended() -> Generator[str | None, str | None, None]:
        text = yield None
        while text is not None:
            text = yield text + letter

    return appended


def holding() -> Generator[None, str | None, list[str]]:
    """Holds every piece until the end."""
    held: list[str] = []
    while (text := (yield)) is not None:
        held.append(text)
    return held


def delivered(events: list[ChatEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, TextDelta)]


def answered(advisor: Advisor, *events: ChatEvent) -> list[ChatEvent]:
    """What is delivered of an answer."""
    seen: list[ChatEvent] = []
    errors: list[Exception] = []
    exchange = advisor(lambda _: just(*events))
    just(ChatRequest(messages=())).pipe(exchange).subscribe(seen.append, errors.append)
    if errors:
        raise errors[0]
    return seen


def texts(*pieces: str) -> list[ChatEvent]:
    return [TextDelta(text=piece) for piece in pieces]


@tool
def echo(text: str) -> str:
    """Say it back."""
    return text


class TestAnchors:
    """S002-32."""

    def test_1_seven_tokens_leave_in_batches_of_three_and_a_flushed_rest(self) -> None:
        """S002-1, S002-2, S002-3, S002-4, S002-5."""
        agent = Agent(
            ScriptedModel(Reply(deltas=tuple("abcdefg"))), advisors=[guard(Batch)]
        )

        events = list(agent.stream("go"))

        assert delivered(events) == ["abc", "def", "g"]
        assert isinstance(events[-1], Finished)

    def test_2_a_stream_that_fails_flushes_nothing(self) -> None:
        """S002-6."""
        broken = OSError("gone")
        model = ScriptedModel(Reply(deltas=tuple("abcde"), error=broken))
        seen: list[ChatEvent] = []
        errors: list[Exception] = []

        Agent(model, advisors=[guard(Batch)]).stream("go").subscribe(
            seen.append, errors.append
        )

        assert delivered(seen) == ["abc"]
        assert errors == [broken]

    def test_3_the_first_one_sees_the_raw_token(self) -> None:
        """S002-8."""
        model = ScriptedModel(Reply(deltas=("a", "b")))
        agent = Agent(model, advisors=[guard(appending("1"), appending("2"))])

        assert delivered(list(agent.stream("go"))) == ["a12", "b12"]

    def test_4_what_is_held_to_the_end_leaves_in_its_order(self) -> None:
        """S002-21, its passing half; the other one is that of ``hold_release``."""
        agent = Agent(
            ScriptedModel(Reply(deltas=("a", "b"))), advisors=[guard(holding)]
        )

        events = list(agent.stream("go"))

        assert events[:-1] == texts("a", "b")

    def test_5_without_a_guard_the_stream_is_the_model_s(self) -> None:
        """S002-16."""
        model = ScriptedModel("fine")

        assert guard()(model) is model

    def test_5_and_who_calls_gets_the_raw_answer(self) -> None:
        """S002-15."""
        agent = Agent(ScriptedModel("raw"), advisors=[guard(str_upper)])

        assert agent.call("go").run().text == "raw"

    def test_6_reasoning_passes_a_guard_of_text(self) -> None:
        """S002-13, S002-14."""
        reply = Reply(reasoning=("sk-1", "234"), deltas=("sk-1", "234"))
        agent = Agent(ScriptedModel(reply), advisors=[guard(redact(r"sk-\d{4}"))])

        *events, _ = agent.stream("go")

        assert events == [
            ReasoningDelta(text="sk-1"),
            ReasoningDelta(text="234"),
            TextDelta(text="[REDACTED]"),
        ]

    def test_7_the_answer_is_what_the_model_said_if_nothing_is_delivered(self) -> None:
        """S002-12."""
        agent = Agent(
            ScriptedModel(Reply(deltas=("a", "b"))), advisors=[guard(Swallow)]
        )

        (end,) = agent.stream("go")

        assert isinstance(end, Finished)
        assert end.response.text == "ab"
        assert [message.text for message in end.response.transcript] == ["ab"]


def str_upper(source: Observable[str]) -> Observable[str]:
    return source.pipe(ops.map(str.upper))


def test_the_marble_of_the_docstring_is_what_happens() -> None:
    given_, expected = drawn(guard.__doc__)
    assert given_ is not None
    letters: Letters = {
        "q": ChatRequest(messages=()),
        **{letter: TextDelta(text=letter) for letter in "abc"},
        "F": END,
    }

    def second() -> Generator[str | None, str | None, str]:
        text, held = (yield None), ""
        while text is not None:
            held = text if text == "c" else ""
            text = yield "" if held else text
        return held

    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        answer = cold("--a--b--c--(F,|)", letters, None)
        advised = guard(appending(""), second)(concat_each(lambda _: answer))
        got = start(cold(given_, letters, None).pipe(advised))
        assert comparable(got) == comparable(exp(expected, letters, None))


def test_each_round_and_each_subscription_has_a_state_of_its_own() -> None:
    """S002-9."""
    rounds = (Reply(deltas=("a", "b"), calls=(tool_call("echo", text="x"),)), "cd")
    agent = Agent(
        ScriptedModel(*rounds, *rounds), tools=[echo], advisors=[guard(Batch)]
    )

    for _ in range(2):
        events = list(agent.stream("go"))
        assert delivered(events) == ["ab", "cd"]
        kinds = [type(event) for event in events]
        assert kinds.index(RoundFinished) > kinds.index(TextDelta)


def test_a_guard_outside_the_loop_leaves_tools_and_their_events_alone() -> None:
    """S002-18."""
    model = ScriptedModel(Reply(calls=(tool_call("echo", text="sk-1"),)), "done")
    agent = Agent(model, tools=[echo], advisors=[guard(redact(r"sk-\d")), tool_loop()])

    events = list(agent.stream("go"))

    (finished,) = (each for each in events if isinstance(each, ToolFinished))
    assert finished.value == "sk-1"


def test_who_is_outside_sees_guarded_text_and_who_is_inside_the_raw_one() -> None:
    """S002-17."""
    seen: list[tuple[str, str]] = []

    def watch(name: str) -> Advisor:
        def note(event: ChatEvent) -> None:
            if isinstance(event, TextDelta):
                seen.append((name, event.text))

        return after(ops.do_action(note))

    agent = Agent(
        ScriptedModel("ab"),
        advisors=[watch("outside"), guard(str_upper), watch("inside")],
    )
    agent.stream("go").run()

    assert seen == [("inside", "ab"), ("outside", "AB")]


class TestEarlyStops:
    @staticmethod
    def first_two(source: Observable[str]) -> Observable[str]:
        return source.pipe(ops.take(2))

    def test_what_stops_early_is_fed_no_more_and_the_model_is_read_on(self) -> None:
        """S002-10, S002-11, S002-30."""
        model = ScriptedModel(Reply(deltas=tuple("abcd")))

        *events, end = Agent(model, advisors=[guard(self.first_two)]).stream("go")

        assert events == texts("a", "b")
        assert cast("Finished", end).response.text == "abcd"

    def test_a_flush_into_what_stops_early_gives_no_more(self) -> None:
        """M-63: three tokens are held, and one is taken."""
        take_one = ops.take(1)

        def first(source: Observable[str]) -> Observable[str]:
            return source.pipe(take_one)

        events = answered(guard(holding, first), *texts("a", "b", "c"), END)

        assert events == [TextDelta(text="a"), END]

    def test_an_event_behind_it_does_not_wait(self) -> None:
        call = ToolCallDelta(index=0, id="c", name="f", arguments="{}")

        events = answered(
            guard(self.first_two), *texts("a", "b", "c"), call, *texts("d"), END
        )

        assert events == [*texts("a", "b"), call, END]


class TestPlaces:
    """An event stays where it was among the texts."""

    CALL = ToolCallDelta(index=0, id="c", name="f", arguments="{}")
    THOUGHT = ReasoningDelta(text="hm")

    @pytest.mark.parametrize(
        ("before", "behind", "wanted"),
        [
            (["a"], ["b"], (["a"], ["b"])),
            (["a sk"], ["-1 b"], (["a ", "[X]"], [" b"])),  # it spans the event
            (["sk-1"], [" b"], (["[X]"], [" b"])),
            (["sk"], ["ip it"], (["sk"], ["ip it"])),
            (["a ", "sk-", "1"], ["2", " b"], (["a ", "[X]"], [" b"])),
            (["sk"], [], (["sk"], [])),
        ],
    )
    def test_text_before_it_comes_before_it_and_text_behind_it_behind(
        self, before: list[str], behind: list[str], wanted: tuple[list[str], list[str]]
    ) -> None:
        events = answered(
            guard(redact(r"sk-\d+", "[X]")),
            *texts(*before),
            self.CALL,
            self.THOUGHT,
            *texts(*behind),
            END,
        )

        place = events.index(self.CALL)
        assert events[place : place + 2] == [self.CALL, self.THOUGHT]
        found = ["".join(delivered(each)) for each in (events[:place], events[place:])]
        assert found == ["".join(each) for each in wanted]
        assert events[-1] == END

    def test_a_guard_that_does_not_tell_what_it_holds_is_counted(self) -> None:
        events = answered(
            guard(Batch), *texts("a", "b"), self.CALL, *texts("c", "d"), END
        )

        assert events == [*texts("ab"), self.CALL, *texts("c", "d"), END]

    def test_a_guard_that_drops_text_keeps_the_order(self) -> None:
        def vowels(source: Observable[str]) -> Observable[str]:
            return source.pipe(ops.filter("aeiou".__contains__))

        events = answered(guard(vowels), *texts("a", "b"), self.CALL, *texts("e"), END)

        assert events == [*texts("a", "e"), self.CALL, END]

    def test_events_wait_for_what_is_held_and_go_when_it_is_decided(self) -> None:
        seen: list[ChatEvent] = []
        pieces = reactivex.Subject[ChatEvent]()
        exchange = guard(redact(r"sk-\d+", "[X]"))(lambda _: pieces)
        just(ChatRequest(messages=())).pipe(exchange).subscribe(seen.append)

        for event, wanted in (
            (TextDelta(text="a sk"), texts("a ")),
            (self.CALL, texts("a ")),
            (TextDelta(text="i"), [*texts("a ", "sk"), self.CALL, *texts("i")]),
        ):
            pieces.on_next(event)
            assert seen == wanted

    def test_channels_have_a_state_each_and_keep_their_places(self) -> None:
        channels = guard(
            redact(r"sk-\d", "[X]"), channels=("text", "reasoning", "tool_arguments")
        )

        events = answered(
            channels,
            ReasoningDelta(text="sk"),
            TextDelta(text="-1 sk"),
            ReasoningDelta(text="-1"),
            TextDelta(text="-1"),
            END,
        )

        assert events == [
            ReasoningDelta(text="[X]"),
            TextDelta(text="-1 "),
            TextDelta(text="[X]"),
            END,
        ]

    def test_each_call_is_a_text_of_its_own_and_keeps_its_id_and_name(self) -> None:
        tools = guard(redact(r"sk-\d", "[X]"), channels=["tool_arguments"])

        events = answered(
            tools,
            ToolCallDelta(index=0, id="a", name="f", arguments="sk"),
            ToolCallDelta(index=1, id="b", name="g", arguments="-1"),
            ToolCallDelta(index=0, arguments="-1"),
            END,
        )

        assert events == [
            ToolCallDelta(index=0, id="a", name="f", arguments=""),
            ToolCallDelta(index=0, arguments="[X]"),
            ToolCallDelta(index=1, id="b", name="g", arguments="-1"),
            END,
        ]

    def test_a_retraction_voids_what_is_held_and_no_event(self) -> None:
        retracted = Retracted(reason="again")

        events = answered(
            guard(redact(r"sk-\d")),
            *texts("a sk-"),
            self.CALL,
            retracted,
            *texts("1 b"),
            END,
        )

        assert events == [*texts("a "), self.CALL, retracted, *texts("1 b"), END]


class TestErrors:
    def test_what_a_guard_raises_is_a_guard_error_with_its_name(self) -> None:
        """S002-31: the model is left, and the answer is not there at all."""

        def fragile() -> Generator[None, str | None, None]:
            yield None
            raise ValueError("sk-secret")

        closed: list[bool] = []
        events = just(*texts("a"), END).pipe(
            ops.finally_action(lambda: closed.append(True))
        )
        seen: list[ChatEvent] = []
        errors: list[Exception] = []
        exchange = guard(fragile)(lambda _: events)

        just(ChatRequest(messages=())).pipe(exchange).subscribe(
            seen.append, errors.append
        )

        (error,) = errors
        assert isinstance(error, GuardError)
        assert "fragile" in error.guard
        assert isinstance(error.__cause__, ValueError)
        assert "sk-secret" not in str(error)
        assert seen == []
        assert closed == [True]

    def test_an_error_of_an_operator_is_one_too(self) -> None:
        def divide(source: Observable[str]) -> Observable[str]:
            def quotient(text: str) -> str:
                return str(1 // len(text.strip()))

            return source.pipe(ops.map(quotient))

        with pytest.raises(GuardError, match=r"divide.*failed with ZeroDivisionError"):
            answered(guard(divide), *texts(" "), END)

    @pytest.mark.parametrize("place", ["inside", "outside"])
    def test_a_call_whose_arguments_are_blocked_does_not_run(self, place: str) -> None:
        ran: list[str] = []

        @tool
        def send(body: str) -> str:
            """Send it."""
            ran.append(body)
            return "sent"

        blocking = guard(block(r"password is \w+"), channels=["tool_arguments"])
        loop = tool_loop()
        advisors = [loop, blocking] if place == "inside" else [blocking, loop]
        model = ScriptedModel(
            Reply(calls=(tool_call("send", body="password is tulip"),)), "sent"
        )
        agent = Agent(model, tools=[send], advisors=advisors)

        with pytest.raises(GuardError):
            agent.stream("go").run()
        assert ran == []
        assert len(model.requests) == 1

    def test_who_only_awaits_the_answer_gets_the_error_too(self) -> None:
        agent = Agent(ScriptedModel("the code is 7"), advisors=[guard(block("code"))])

        with pytest.raises(GuardError, match="pattern 1"):
            agent.call("go").run()


class TestEventGuards:
    def test_an_event_guard_stands_among_text_guards(self) -> None:
        def doubled(event: ChatEvent) -> Observable[ChatEvent]:
            return just(event, event) if isinstance(event, TextDelta) else just(event)

        double = EventGuard(name="double", operator=ops.concat_map(doubled))

        events = answered(
            guard(appending("1"), double, appending("2")), *texts("a"), END
        )

        assert events == [*texts("a12", "a12"), END]

    def test_it_does_not_show_its_operator(self) -> None:
        assert repr(EventGuard(name="wait", operator=ops.delay(1))) == (
            "EventGuard(name='wait')"
        )


def test_describe_says_which_guards_there_are() -> None:
    agent = Agent(
        ScriptedModel(),
        advisors=[guard(redact("a"), Batch, appending("1"), holding)],
    )

    assert "guard(redact, Batch, appending.appended, holding)" in str(agent.describe())


@pytest.mark.parametrize(
    "wrong", [Batch(), 7, lambda a, b: None, "redact"], ids=["made", "7", "two", "text"]
)
def test_what_is_no_guard_is_refused(wrong: object) -> None:
    with pytest.raises(ConfigurationError):
        guard(wrong)  # type: ignore[arg-type]


def test_channels_are_refused_if_there_is_no_such_channel() -> None:
    with pytest.raises(ConfigurationError, match="channels must be one of 'text'"):
        guard(Batch, channels=("txt",))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="takes several words"):
        guard(Batch, channels="text")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: guard(Batch),
        lambda: guard(redact("l+"), channels=("text", "reasoning", "tool_arguments")),
        lambda: guard(block("absent"), answer=True),
        lambda: guard(),
    ],
)
def test_a_guard_holds_the_laws_of_advisors(make: Callable[[], Advisor]) -> None:
    """S002-7, S002-25, S002-27."""
    assert_advisor_laws(make())


def test_an_error_of_a_guard_is_not_its_own_cause() -> None:
    with pytest.raises(GuardError) as caught:
        answered(guard(block("a")), *texts("a b"), END)
    assert caught.value.__cause__ is None
