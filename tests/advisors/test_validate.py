from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
import reactivex
from pydantic import BaseModel
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent.advisors import memory, tool_loop, validate
from rxagent.advisors._attempts import LEAD_IN
from rxagent.agent import Agent
from rxagent.chain import after, before
from rxagent.context import Key
from rxagent.decisions import Approve
from rxagent.errors import (
    AdvisorError,
    ConfigurationError,
    InvalidAnswerError,
    RxAgentError,
    ServerError,
)
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    RoundFinished,
    TextDelta,
    ToolFinished,
)
from rxagent.memory import CONVERSATION_ID, Conversation, MemoryStore
from rxagent.messages import AssistantMessage, UserMessage
from rxagent.named import Order, by_order, name_of, named
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse, FinishReason, Verdict
from rxagent.runtime import Flow
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import ToolContext, tool
from rxagent.types import Advisor
from rxagent.usage import Usage


class Film(BaseModel):
    title: str
    year: int


GOOD = '{"title": "Alien", "year": 1979}'
BAD = '{"title": "Alien"}'
PROBLEM = "year is missing, and is required"


def asked(model: ScriptedModel, *advisors: Advisor) -> ChatResponse:
    return Agent(model, advisors=advisors).call("a film").run()


def test_a_good_answer_costs_one_call() -> None:
    """S000-74."""
    model = ScriptedModel(GOOD)
    response = asked(model, validate(Film))
    assert response.text == GOOD
    assert response.verdict == Verdict(texts=(GOOD,))
    assert len(model.requests) == 1


def test_a_bad_answer_is_asked_for_again_with_what_is_wrong() -> None:
    """S000-70, S000-78, S001-52, S003-20, acceptance 64 of Spring AI."""
    model = ScriptedModel(BAD, GOOD)
    response = asked(model, validate(Film))
    assert response.verdict == Verdict(texts=(BAD, GOOD))
    assert model.requests[1].messages == (
        UserMessage.of("a film"),
        AssistantMessage.of(BAD),
        UserMessage.of(LEAD_IN + PROBLEM),
    )
    assert response.transcript == (AssistantMessage.of(GOOD),)


def test_a_retry_tells_the_latest_problem_alone() -> None:
    """S001-53."""
    model = ScriptedModel(BAD, '{"year": 1979}', GOOD)
    asked(model, validate(Film))
    last = model.requests[2].messages
    assert [m.text for m in last] == [
        "a film",
        '{"year": 1979}',
        LEAD_IN + "title is missing, and is required",
    ]


def test_an_empty_answer_has_words_of_its_own_and_is_not_sent_back() -> None:
    """V-22."""
    model = ScriptedModel("", GOOD)
    asked(model, validate(Film))
    first, second = model.requests[1].messages
    assert "the answer is empty" in second.text
    assert isinstance(first, UserMessage)


def test_a_fenced_answer_passes_at_once() -> None:
    """S000-67, acceptance 66 of Spring AI."""
    model = ScriptedModel(f"Sure:\n```json\n{GOOD}\n```")
    response = asked(model, validate(Film))
    assert response.verdict is not None
    assert response.verdict.is_valid


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_the_last_answer_comes_with_its_verdict(retries: int) -> None:
    """S000-75, S000-76, S000-80, S003-24, D-4, acceptance 68 of Spring AI."""
    model = ScriptedModel(BAD, repeat_last=True)
    response = asked(model, validate(Film, max_retries=retries))
    assert len(model.requests) == retries + 1
    assert response.text == BAD
    assert response.verdict is not None
    assert not response.verdict.is_valid
    assert response.verdict.problem == PROBLEM
    assert response.verdict.attempts == retries + 1


def test_three_retries_are_the_default() -> None:
    """S000-77, D-4."""
    model = ScriptedModel(BAD, repeat_last=True)
    asked(model, validate(Film))
    assert len(model.requests) == 4


def test_the_last_answer_can_be_an_error_with_all_attempts() -> None:
    """Acceptance 67 of Spring AI."""
    usage = Usage(input_tokens=3, output_tokens=2, requests=1)
    model = ScriptedModel(Reply(deltas=(BAD,), usage=usage), repeat_last=True)
    with pytest.raises(InvalidAnswerError) as caught:
        asked(model, validate(Film, max_retries=1, on_exhausted="raise"))
    assert caught.value.problem == PROBLEM
    assert caught.value.texts == (BAD, BAD)
    assert caught.value.attempts == 2
    assert caught.value.usage == usage + usage
    assert "after 2 attempts" in str(caught.value)


def test_usage_is_that_of_all_attempts() -> None:
    """V-23."""
    usage = Usage(input_tokens=3, output_tokens=2, requests=1)
    model = ScriptedModel(
        Reply(deltas=(BAD,), usage=usage), Reply(deltas=(GOOD,), usage=usage)
    )
    assert asked(model, validate(Film)).usage == usage + usage


@tool
def year_of(title: str) -> int:
    """Look a year up."""
    return 1979


CALL = Reply(calls=(tool_call("year_of", title="Alien"),))


@pytest.mark.parametrize(
    "advisors",
    [(validate(Film), tool_loop()), (tool_loop(), validate(Film))],
    ids=["outside", "inside"],
)
def test_a_call_is_never_validated(advisors: tuple[Advisor, ...]) -> None:
    """S001-51, V-2, acceptance 65 of Spring AI."""
    model = ScriptedModel(CALL, GOOD)
    agent = Agent(model, tools=[year_of], advisors=advisors)
    response = agent.call("a film").run()
    assert len(model.requests) == 2
    assert response.verdict == Verdict(texts=(GOOD,))


def test_a_retry_still_knows_the_results_of_tools() -> None:
    model = ScriptedModel(CALL, BAD, BAD, GOOD)
    agent = Agent(model, tools=[year_of], advisors=[validate(Film)])
    response = agent.call("a film").run()
    roles = [message.role for message in model.requests[3].messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert [m.role for m in response.transcript] == ["assistant", "tool", "assistant"]
    assert response.transcript[-1].text == GOOD


def test_only_the_rest_of_the_chain_runs_again() -> None:
    """S003-2, S003-23, Q7."""
    seen: list[str] = []

    def counting(name: str) -> Advisor:
        def note(request: ChatRequest) -> ChatRequest:
            seen.append(name)
            return request

        return before(note)

    model = ScriptedModel(BAD, GOOD)
    asked(model, counting("outside"), validate(Film), counting("inside"))
    assert seen == ["outside", "inside", "inside"]


@pytest.mark.parametrize(
    "reason", ["length", "refusal", "content_filter", "pause", "interrupted"]
)
def test_what_is_no_whole_answer_passes_as_it_is(reason: FinishReason) -> None:
    model = ScriptedModel(Reply(deltas=("{",), finish_reason=reason))
    response = asked(model, validate(Film))
    assert (response.finish_reason, response.verdict) == (reason, None)
    assert len(model.requests) == 1


def test_text_waits_for_the_verdict() -> None:
    """S002-24, S001-57, V-3."""
    model = ScriptedModel(BAD, Reply(reasoning=("hm",), deltas=(GOOD[:5], GOOD[5:])))
    events = list(Agent(model, advisors=[validate(Film)]).stream("a film"))
    assert events[:-1] == [
        ReasoningDelta(text="hm"),
        TextDelta(text=GOOD[:5]),
        TextDelta(text=GOOD[5:]),
    ]


def test_live_text_is_voided_before_a_retry() -> None:
    model = ScriptedModel(BAD, GOOD)
    agent = Agent(model, advisors=[validate(Film, live=True)])
    assert list(agent.stream("a film"))[:-1] == [
        TextDelta(text=BAD),
        Retracted(reason=PROBLEM),
        TextDelta(text=GOOD),
    ]


def test_interim_text_does_not_wait_longer_than_its_round() -> None:
    call = Reply(deltas=("Let me look.",), calls=CALL.calls)
    model = ScriptedModel(call, GOOD)
    agent = Agent(model, tools=[year_of], advisors=[validate(Film)])
    kinds = [type(event) for event in agent.stream("a film")]
    assert kinds.index(TextDelta) < kinds.index(RoundFinished)
    assert kinds.index(RoundFinished) < kinds.index(ToolFinished)


def shout(response: ChatResponse) -> str | None:
    return None if response.text.isupper() else "shout"


def test_a_check_of_ones_own_says_what_is_wrong() -> None:
    """S000-79."""
    model = ScriptedModel("hi", "HI")
    assert asked(model, validate(check=shout)).text == "HI"
    assert model.requests[1].messages[-1].text == LEAD_IN + "shout"


def test_a_plain_no_is_told_as_such() -> None:
    model = ScriptedModel("hi", "HI")
    asked(model, validate(check=lambda response: response.text == "HI"))
    assert model.requests[1].messages[-1].text == LEAD_IN + "it was rejected"


def test_another_model_may_judge() -> None:
    """S003-1."""
    judge = Agent(ScriptedModel("too short", "fine"))

    def verdict(said: ChatResponse) -> bool | str | None:
        return said.text == "fine" or said.text

    model = ScriptedModel("hi", "hello there")
    advisor = validate(check=lambda it: judge.call(it.text).pipe(ops.map(verdict)))
    assert asked(model, advisor).text == "hello there"
    assert model.requests[1].messages[-1].text == LEAD_IN + "too short"


def test_a_check_that_takes_time_runs_on_the_clock_of_the_stream() -> None:
    scheduler = TestScheduler()

    def slow(_: ChatResponse) -> Observable[bool | str | None]:
        return reactivex.timer(50.0).pipe(ops.map(lambda _: None))

    agent = Agent(ScriptedModel("hi"), advisors=[validate(check=slow)])
    results = scheduler.start(lambda: agent.stream("a film"))
    assert [message.time for message in results.messages] == [250, 250, 250]


def test_dispose_ends_the_check() -> None:
    scheduler = TestScheduler()
    verdicts = scheduler.create_cold_observable(ReactiveTest.on_next(900, None))
    agent = Agent(ScriptedModel("hi"), advisors=[validate(check=lambda _: verdicts)])
    scheduler.start(lambda: agent.stream("a film"), disposed=400)
    (subscription,) = verdicts.subscriptions
    assert subscription.unsubscribe == 400


@pytest.mark.parametrize("said", [7, "", just(), just(7), just("")])
def test_a_check_has_to_give_a_verdict(said: object) -> None:
    check = lambda _: said  # noqa: E731
    with pytest.raises(AdvisorError, match="validate"):
        asked(ScriptedModel("hi"), validate(check=check))  # type: ignore[arg-type]


def test_a_check_that_raises_ends_the_stream() -> None:
    def check(_: ChatResponse) -> bool:
        raise KeyError("who")

    with pytest.raises(KeyError):
        asked(ScriptedModel("hi"), validate(check=check))


def test_an_error_drops_what_waits() -> None:
    model = ScriptedModel(Reply(deltas=("{",), error=ServerError("broken")))
    seen: list[ChatEvent] = []
    failed: list[Exception] = []
    stream = Agent(model, advisors=[validate(Film)]).stream("a film")
    stream.subscribe(seen.append, failed.append)
    assert seen == []
    assert isinstance(failed[0], ServerError)


@dataclass(frozen=True)
class Plain:
    title: str


def test_it_takes_a_type_or_a_check() -> None:
    """S003-19."""
    with pytest.raises(ConfigurationError, match="and not both"):
        validate()
    with pytest.raises(ConfigurationError, match="and not both"):
        validate(Plain, check=shout)


def test_what_changes_the_format_does_no_harm_outside_of_the_check() -> None:
    """S001-56: inside of it every answer is bad."""

    def signed(event: ChatEvent) -> ChatEvent:
        if not isinstance(event, Finished):
            return event
        said = AssistantMessage.of(f"Dear user, {event.response.text[1:]}")
        return Finished(response=replace(event.response, message=said))

    sign = after(ops.map(signed))
    outside = asked(ScriptedModel(GOOD), sign, validate(Film))
    assert outside.verdict is not None
    assert outside.verdict.is_valid
    inside = asked(ScriptedModel(GOOD, repeat_last=True), validate(Film), sign)
    assert inside.verdict is not None
    assert inside.verdict.attempts == 4


@pytest.mark.parametrize("retries", [-1, True, 1.5, "3", None])
def test_negative_retries_are_refused(retries: Any) -> None:
    """S003-24."""
    with pytest.raises(ConfigurationError, match="max_retries"):
        validate(Plain, max_retries=retries)


def test_what_cannot_be_checked_is_refused_when_it_is_built() -> None:
    """S000-73."""
    with pytest.raises(ConfigurationError, match="no JSON Schema"):
        validate({"type": "objekt"})
    with pytest.raises(ConfigurationError, match="cannot be of type"):
        validate(ScriptedModel)


def test_a_check_in_the_place_of_a_type_is_refused() -> None:
    """A type checker cannot see it, and pydantic would call it with the answer."""

    def is_short(response: ChatResponse) -> bool:
        return len(response.text) < 20

    with pytest.raises(ConfigurationError, match="check="):
        validate(is_short)


def test_one_advisor_serves_many_turns_at_once() -> None:
    """Law 7."""
    agent = Agent(ScriptedModel(BAD, GOOD, BAD, GOOD), advisors=[validate(Film)])
    both = reactivex.merge(agent.stream("a"), agent.stream("b"))
    ends: list[ChatEvent] = []
    both.subscribe(ends.append)
    finished = [event for event in ends if isinstance(event, Finished)]
    assert [event.response.text for event in finished] == [GOOD, GOOD]


def tokens(number: int) -> Usage:
    return Usage(output_tokens=number, requests=1)


def costly(text: str, number: int) -> Reply:
    return Reply(deltas=(text,), usage=tokens(number))


def spent(error: RxAgentError) -> tuple[int | None, int]:
    assert error.usage is not None
    return error.usage.output_tokens, error.usage.requests


def test_an_error_in_a_later_attempt_has_the_usage_of_all() -> None:
    """V-23."""
    broken = ServerError("broken", usage=tokens(100))
    model = ScriptedModel(costly(BAD, 1), costly(BAD, 10), broken, repeat_last=True)
    with pytest.raises(ServerError) as caught:
        asked(model, validate(Film))
    assert spent(caught.value) == (111, 3)
    assert broken.usage == tokens(100)


def test_a_round_of_tools_in_a_later_attempt_counts_once() -> None:
    call = Reply(calls=CALL.calls, usage=tokens(10))
    model = ScriptedModel(costly(BAD, 1), call, ServerError("broken"))
    agent = Agent(model, tools=[year_of], advisors=[validate(Film)])
    with pytest.raises(ServerError) as caught:
        agent.call("a film").run()
    assert spent(caught.value) == (11, 2)


def test_an_error_of_the_check_has_the_usage_of_the_answers() -> None:
    broken = ServerError("the judge broke", usage=tokens(100))

    def check(_: ChatResponse) -> bool:
        raise broken

    with pytest.raises(ServerError) as caught:
        asked(ScriptedModel(costly("hi", 1)), validate(check=check))
    assert spent(caught.value) == (101, 2)


TOTAL = Key("total", int, reduce=lambda old, new: old + new)


@tool
def add(me: ToolContext) -> str:
    """Add."""
    me.set(TOTAL, 1)
    return "added"


ADD = Reply(calls=(tool_call("add"),))


def test_what_tools_wrote_in_a_bad_attempt_is_kept() -> None:
    model = ScriptedModel(ADD, BAD, ADD, GOOD)
    agent = Agent(model, tools=[add], advisors=[validate(Film)])
    response = agent.call("a film", context={"total": 0}).run()
    assert response.context[TOTAL] == 2
    assert [request.context[TOTAL] for request in model.requests] == [0, 1, 1, 2]


def test_the_rounds_of_a_turn_are_numbered_through_all_attempts() -> None:
    model = ScriptedModel(ADD, BAD, BAD, GOOD)
    agent = Agent(model, tools=[add], advisors=[validate(Film)])
    agent.call("a film", context={"total": 0}).run()
    assert [request.origin.round for request in model.requests] == [0, 1, 2, 3]


def test_thoughts_that_led_to_a_bad_answer_are_void() -> None:
    """What is shown adds up to the answer, also where the text is held."""
    bad = Reply(reasoning=("bad",), deltas=(BAD,))
    good = Reply(reasoning=("good",), deltas=(GOOD,))
    events = list(
        Agent(ScriptedModel(bad, good), advisors=[validate(Film)]).stream("a")
    )
    assert events[:-1] == [
        ReasoningDelta(text="bad"),
        Retracted(reason=PROBLEM),
        ReasoningDelta(text="good"),
        TextDelta(text=GOOD),
    ]


def test_held_text_that_the_inner_part_voids_is_never_shown() -> None:
    inner: tuple[ChatEvent, ...] = (
        TextDelta(text="no"),
        Retracted(reason="late"),
        TextDelta(text="HI"),
        Finished(response=ChatResponse(message=AssistantMessage.of("HI"))),
    )

    def model(_: Observable[ChatRequest]) -> Observable[ChatEvent]:
        return just(*inner)

    events = list(Agent(model, advisors=[validate(check=shout)]).stream("a"))
    assert events[:-1] == [Retracted(reason="late"), TextDelta(text="HI")]


@tool(return_direct=True)
def film_of(title: str) -> str:
    """Find a film."""
    return BAD if title == "bad" else GOOD


def test_a_result_that_is_the_answer_is_checked_and_its_call_stays_whole() -> None:
    model = ScriptedModel(
        Reply(calls=(tool_call("film_of", title="bad"),)),
        Reply(calls=(tool_call("film_of", title="good"),)),
    )
    agent = Agent(model, tools=[film_of], advisors=[validate(Film)])
    response = agent.call("a film").run()
    assert response.text == GOOD
    roles = [message.role for message in model.requests[1].messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert [m.role for m in response.transcript] == ["assistant", "tool"] * 2


@tool(needs_approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


def test_a_turn_that_was_resumed_may_be_asked_again() -> None:
    model = ScriptedModel(Reply(calls=(tool_call("pay"),)), BAD, GOOD)
    agent = Agent(model, tools=[pay], advisors=[validate(Film)])
    paused = agent.call("a film").run()
    assert paused.snapshot is not None
    assert paused.verdict is None
    decisions = {paused.snapshot.pending[0]: Approve()}
    *_, end = agent.resume(paused.snapshot, decisions)
    assert isinstance(end, Finished)
    assert end.response.text == GOOD
    roles = [message.role for message in model.requests[2].messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert [m.role for m in end.response.transcript] == [
        "assistant",
        "tool",
        "assistant",
    ]


def test_a_retry_may_pause_and_the_resumed_turn_is_checked() -> None:
    model = ScriptedModel(BAD, Reply(calls=(tool_call("pay"),)), GOOD)
    agent = Agent(model, tools=[pay], advisors=[validate(Film)])
    paused = agent.call("a film").run()
    assert paused.snapshot is not None
    decisions = {paused.snapshot.pending[0]: Approve()}
    *_, end = agent.resume(paused.snapshot, decisions)
    assert isinstance(end, Finished)
    assert end.response.verdict == Verdict(texts=(GOOD,))


def test_advisors_by_order_have_it_inside_memory_and_around_the_loop() -> None:
    """D-3, S001-55, S004-28, Q7."""
    kept = memory(MemoryStore())
    advisors = by_order([tool_loop(), validate(Film), kept])
    assert [name_of(each) for each in advisors] == ["memory", "validate", "tool_loop"]
    mine = named("mine", validate(Film), order=Order.IN_LOOP)
    assert [name_of(each) for each in by_order([mine, tool_loop()])][1] == "mine"


def test_a_judge_may_stand_around_a_check_of_the_type() -> None:
    """S003-1: an evaluation loop, whose inner part is one, too."""
    other = '{"title": "Alien", "year": 1986}'
    model = ScriptedModel(BAD, other, GOOD)

    def judge(response: ChatResponse) -> str | None:
        return None if "1979" in response.text else "the year is wrong"

    response = asked(model, validate(check=judge), validate(Film))
    assert response.text == GOOD
    assert model.requests[2].messages[-1].text == LEAD_IN + "the year is wrong"


def kept_of(store: MemoryStore) -> list[tuple[str, str]]:
    kept = Flow[Conversation].of(store.load("c")).run()
    return [(message.role, message.text) for message in kept.messages]


def test_memory_keeps_the_last_answer_and_no_attempt_before_it() -> None:
    """S000-78: the reason comes back as a message, and memory never sees it."""
    store = MemoryStore()
    model = ScriptedModel(BAD, GOOD, "done")
    agent = Agent(model, advisors=[memory(store), validate(Film)])
    context = {CONVERSATION_ID.name: "c"}
    agent.call("a film", context=context).run()
    assert kept_of(store) == [("user", "a film"), ("assistant", GOOD)]
    again = ScriptedModel(GOOD)
    Agent(again, advisors=[memory(store)]).call("and now?", context=context).run()
    assert [message.text for message in again.requests[0].messages] == [
        "a film",
        GOOD,
        "and now?",
    ]


@pytest.mark.parametrize("live", [False, True])
def test_memory_keeps_nothing_of_an_answer_that_is_an_error(live: bool) -> None:
    store = MemoryStore()
    model = ScriptedModel(BAD, repeat_last=True)
    check = validate(Film, max_retries=1, on_exhausted="raise", live=live)
    agent = Agent(model, advisors=[memory(store), check])
    with pytest.raises(InvalidAnswerError):
        agent.call("a film", context={CONVERSATION_ID.name: "c"}).run()
    assert kept_of(store) == []


def test_a_retry_with_memory_inside_of_it_still_ends_in_the_last_answer() -> None:
    """Not the order to choose, and yet no request is broken by it."""
    store = MemoryStore()
    model = ScriptedModel(BAD, GOOD)
    agent = Agent(model, advisors=[validate(Film), memory(store)])
    response = agent.call("a film", context={CONVERSATION_ID.name: "c"}).run()
    assert response.text == GOOD
    assert kept_of(store)[-1] == ("assistant", GOOD)
