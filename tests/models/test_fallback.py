from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import TestScheduler
from reactivex.testing.marbles import marbles_testing

from rxagent import errors
from rxagent.advisors import memory, safeguard, tool_loop, tool_search, validate
from rxagent.agent import Agent
from rxagent.chain import after, before, chain
from rxagent.errors import (
    AuthenticationError,
    BadRequestError,
    ConfigurationError,
    GuardError,
    InvalidAnswerError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    ProviderStreamError,
    RateLimitError,
    RequestError,
    RetractedError,
    RxAgentError,
    ServerError,
    ToolError,
    TruncatedStreamError,
)
from rxagent.events import (
    ChatEvent,
    Finished,
    Retracted,
    RoundFinished,
    TextDelta,
    ToolStarted,
)
from rxagent.guards import block, guard
from rxagent.memory import CONVERSATION_ID, Conversation, MemoryStore
from rxagent.messages import AssistantMessage, ToolMessage, UserMessage
from rxagent.models import (
    Fallback,
)
from rxagent.operators import collect_text, just
from rxagent.requests import ChatOptions, ChatRequest, Origin
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow
from rxagent.testing import (
    Reply,
    ScriptedModel,
    Step,
    assert_advisor_laws,
    assert_exchange_laws,
    tool_call,
)
from rxagent.tools import tool
from rxagent.types import Advisor, AnswerMode, Exchange
from rxagent.usage import Usage
from tests.marbles import Letters, comparable, drawn
from tests.test_laws import REPLIES, calls_made

QUESTION = ChatRequest(
    messages=(UserMessage.of("hi"),), origin=Origin(run_id="r", path=("a",))
)
BUSY = OverloadedError("busy", provider="first", status=503)
BROKEN_OFF = Reply(deltas=("Wro", "ng"), error=TruncatedStreamError("it broke off"))
GOOD = Reply(deltas=("Ri", "ght"))


def ask(model: Exchange, request: ChatRequest = QUESTION) -> list[ChatEvent]:
    return list(Flow[ChatEvent].of(just(request).pipe(model)))


def failure(model: Exchange) -> Exception:
    told = Flow[Any].of(just(QUESTION).pipe(model, ops.materialize()))
    error = list(told)[-1].exception
    assert isinstance(error, Exception)
    return error


def then_fails(*events: ChatEvent) -> Exchange:
    """A model that says ``events``, and is busy then."""
    failed = just(QUESTION).pipe(ScriptedModel(BUSY, repeat_last=True))
    return lambda requests: requests.pipe(
        ops.concat_map(lambda _: just(*events).pipe(ops.concat(failed)))
    )


def delta(text: str) -> TextDelta:
    return TextDelta(text=text)


def end(events: list[ChatEvent]) -> ChatResponse:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.response


# What another model may answer


@pytest.mark.parametrize(
    "failed",
    [
        pytest.param(BUSY, id="503"),
        pytest.param(RateLimitError("slow down", status=429), id="429"),
        pytest.param(RateLimitError("no quota", retryable=False), id="no quota"),
        pytest.param(ServerError("broke", status=500), id="500"),
        pytest.param(ServerError("do not retry", retryable=False), id="no retry"),
        pytest.param(ModelTimeoutError("late", clock="first"), id="timeout"),
        pytest.param(ModelConnectionError("gone"), id="connection"),
        pytest.param(TruncatedStreamError("half"), id="truncated"),
        pytest.param(errors.EmptyStreamError("nothing"), id="empty"),
        pytest.param(ProviderStreamError("aborted", retryable=True), id="aborted"),
    ],
)
def test_a_failure_that_may_pass_is_answered_by_the_next_model(
    failed: ModelError,
) -> None:
    """S001-134, Q5."""
    first, second = ScriptedModel(failed), ScriptedModel("fine")

    assert end(ask(Fallback(first, second))).text == "fine"
    first.assert_used_up()


@pytest.mark.parametrize(
    "failed",
    [
        pytest.param(AuthenticationError("429 key", status=401), id="auth"),
        pytest.param(BadRequestError("overloaded", status=400), id="bad request"),
        pytest.param(errors.ContextLengthError("503"), id="too long"),
        pytest.param(errors.ModelNotFoundError("timeout"), id="not found"),
        pytest.param(errors.MalformedResponseError("500"), id="malformed"),
        pytest.param(ProviderStreamError("rate limit"), id="of no known kind"),
        pytest.param(ToolError("pay", "failed with 503"), id="tool"),
        pytest.param(GuardError("block", "found 429"), id="guard"),
        pytest.param(InvalidAnswerError("429", texts=("",)), id="validation"),
        pytest.param(errors.LimitError("503", name="n", value=1), id="limit"),
        pytest.param(ConfigurationError("503"), id="configuration"),
        pytest.param(RequestError("rate limit"), id="request"),
        pytest.param(errors.AdvisorError("a", "timed out"), id="advisor"),
        pytest.param(errors.StoreError("", "is overloaded"), id="store"),
        pytest.param(ValueError("429 Too Many Requests"), id="bug"),
        pytest.param(TimeoutError("timeout"), id="somebody's timeout"),
        pytest.param(ConnectionError("connection lost"), id="somebody's connection"),
    ],
)
def test_any_other_failure_passes_as_it_is_whatever_it_says(failed: Exception) -> None:
    """S001-134, S001-135, Q5: types decide, never a word."""
    second = ScriptedModel("fine")

    assert failure(Fallback(ScriptedModel(failed), second)) is failed
    assert second.requests == []


def test_every_kind_of_error_is_decided_by_its_type() -> None:
    """Q5: who adds a kind has to say it here."""
    kinds = {
        name: kind
        for name in errors.__all__
        if inspect.isclass(kind := getattr(errors, name))
    }
    may_pass = {
        name
        for name, kind in kinds.items()
        if issubclass(kind, ModelError) and kind.default_retryable
    }
    assert may_pass == {
        "EmptyStreamError",
        "ModelConnectionError",
        "ModelTimeoutError",
        "OverloadedError",
        "RateLimitError",
        "ServerError",
        "TruncatedStreamError",
    }


# What is no failure of a model


def test_a_block_is_an_answer_and_no_reason_to_ask_another_model() -> None:
    """S001-134, S001-135, Q5: inside of one of the models, and around all of them."""
    first, second = ScriptedModel(BUSY), ScriptedModel("unsafe")
    inside = Fallback(chain([safeguard(["hi"])], first), second)
    around = chain([safeguard(["hi"])], Fallback(first, second))

    assert [end(ask(each)).blocked_by for each in (inside, around)] == ["safeguard"] * 2
    assert (first.requests, second.requests) == ([], [])


def test_a_guard_around_it_guards_whoever_answers() -> None:
    """S001-135."""
    model = Fallback(ScriptedModel(BUSY), ScriptedModel("the secret"))

    agent = Agent(model, advisors=[guard(block("secret"))])
    with pytest.raises(GuardError):
        agent.call("hi").run()


def _bug(_: ChatRequest) -> ChatRequest:
    raise ValueError("429")


def _late_bug(_: ChatEvent) -> ChatEvent:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("advisor", "kind"),
    [
        (validate(check=lambda _: "503", max_retries=0, on_exhausted="raise"), None),
        (guard(block("fine")), GuardError),
        (before(_bug), ValueError),
        (after(ops.map(_late_bug)), ZeroDivisionError),
    ],
    ids=["validation", "guard", "bug on the way in", "bug on the way back"],
)
def test_what_an_inner_advisor_fails_with_passes(
    advisor: Any, kind: type[Exception] | None
) -> None:
    """S001-134, Q5."""
    second = ScriptedModel("other")
    model = Fallback(chain([advisor], ScriptedModel("fine")), second)

    assert type(failure(model)) is (kind or InvalidAnswerError)
    assert second.requests == []


def _busy(_: object) -> Any:
    raise BUSY


@pytest.mark.parametrize(
    "advisor",
    [before(_busy), after(ops.map(_busy)), validate(check=_busy)],
    ids=["on the way in", "on the way back", "a check"],
)
def test_an_error_of_a_model_counts_whoever_inside_raises_it(advisor: Advisor) -> None:
    """An advisor may ask a model of its own; around it all, its error passes."""
    first, second = ScriptedModel("fine"), ScriptedModel("other")
    inside = Fallback(chain([advisor], first), second)
    around = chain([advisor], Fallback(ScriptedModel("fine"), second))

    assert end(ask(inside)).text == "other"
    assert type(failure(around)) is type(BUSY)
    assert len(second.requests) == 1


def test_an_answer_that_did_not_pass_its_check_is_an_answer() -> None:
    """S001-134."""
    second = ScriptedModel("other")
    checked = chain([validate(check=lambda _: "no", max_retries=0)], ScriptedModel("x"))

    verdict = end(ask(Fallback(checked, second))).verdict
    assert verdict is not None
    assert not verdict.is_valid
    assert second.requests == []


def test_a_tool_that_fails_is_no_reason_to_ask_another_model() -> None:
    """S001-134: not even with an error that a model could have failed with."""

    @tool
    def pay() -> str:
        """Pay."""
        raise OverloadedError("the bank is busy")

    second = ScriptedModel("other")
    first = Agent(
        ScriptedModel(Reply(calls=(tool_call("pay"),))),
        tools=[pay],
        advisors=[tool_loop(raises=(OverloadedError,))],
    )

    assert type(failure(Fallback(first, second))) is OverloadedError
    assert second.requests == []


def test_an_agent_that_has_called_a_tool_is_not_followed_by_another() -> None:
    """What its tools did would be done twice."""
    paid: list[str] = []

    @tool
    def pay() -> Observable[str]:
        """Pay."""
        paid.append("paid")
        return just("ok")

    script: list[Step] = [Reply(calls=(tool_call("pay"),)), BUSY]
    agents = [Agent(ScriptedModel(*script), tools=[pay]) for _ in range(2)]

    assert str(failure(Fallback(*agents))) == "busy"
    assert paid == ["paid"]


@pytest.mark.parametrize(
    "event",
    [
        RoundFinished(response=ChatResponse(message=AssistantMessage.of(""))),
        ToolStarted(call=tool_call("pay")),  # a turn that was paused begins so
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_round_that_has_ended_and_a_tool_that_has_begun_are_not_undone(
    event: ChatEvent,
) -> None:
    model = Fallback(then_fails(event), ScriptedModel("other"))

    assert failure(model) is BUSY


def test_an_agent_that_fails_at_once_is_followed_by_another() -> None:
    model = Fallback(Agent(ScriptedModel(BUSY)), Agent(ScriptedModel("fine")))

    assert Agent(model).call("hi").run().text == "fine"


def test_nothing_follows_an_end() -> None:
    """Law 1: a failure behind `Finished` is too late for another answer."""

    done = Finished(response=ChatResponse(message=AssistantMessage.of("done")))
    second = ScriptedModel("other")

    assert failure(Fallback(then_fails(done), second)) is BUSY
    assert second.requests == []


# What was delivered


def test_what_was_delivered_before_is_void() -> None:
    """DESIGN, section 3."""
    model = Fallback(ScriptedModel(BROKEN_OFF), ScriptedModel(GOOD))

    *events, _ = whole = ask(model)
    assert events == [
        delta("Wro"),
        delta("ng"),
        Retracted(reason="it broke off"),
        delta("Ri"),
        delta("ght"),
    ]
    assert {event.origin for event in whole} == {QUESTION.origin}
    assert end(whole).text == "Right"
    assert end(whole).transcript == (AssistantMessage.of("Right"),)


def test_nothing_is_void_where_nothing_was_delivered() -> None:
    broken: list[Step] = [Reply(error=TruncatedStreamError("half")), BUSY]
    for step in broken:
        events = ask(Fallback(ScriptedModel(step), ScriptedModel(GOOD)))
        assert events[:-1] == [delta("Ri"), delta("ght")]


def test_what_is_void_already_is_not_voided_again() -> None:
    voids = then_fails(delta("no"), Retracted(reason="mine"))

    events = ask(Fallback(voids, ScriptedModel("yes")))
    assert events[:-1] == [delta("no"), Retracted(reason="mine"), delta("yes")]


def test_sinks_clear_what_is_void() -> None:
    def agent() -> Agent:
        return Agent(Fallback(ScriptedModel(BROKEN_OFF), ScriptedModel(GOOD)))

    texts = list(agent().stream("hi").pipe(collect_text()))
    assert texts == ["Wro", "Wrong", "", "Ri", "Right"]
    assert agent().call("hi").run().text == "Right"
    with pytest.raises(RetractedError, match="it broke off"):
        list(agent().stream("hi").text())


def test_thoughts_that_were_delivered_are_void_too() -> None:
    thinks = Reply(reasoning=("hm",), error=BUSY)
    events = ask(Fallback(ScriptedModel(thinks), ScriptedModel(GOOD)))

    assert isinstance(events[1], Retracted)


def test_a_memory_keeps_the_answer_alone() -> None:
    store = MemoryStore()
    model = Fallback(ScriptedModel(BROKEN_OFF), ScriptedModel(GOOD))
    agent = Agent(model, advisors=[memory(store, on_failure="mark")])
    agent.call("hi", context={CONVERSATION_ID.name: "c"}).run()

    kept = Flow[Conversation].of(store.load("c")).run()
    assert [each.text for each in kept.messages] == ["hi", "Right"]


# What is told


def test_each_switch_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Law 8."""
    with caplog.at_level(logging.INFO, logger="rxagent"):
        ask(Fallback(ScriptedModel(BUSY), ScriptedModel(BUSY), ScriptedModel("fine")))

    assert (
        caplog.record_tuples
        == [
            (
                "rxagent.models.fallback",
                logging.WARNING,
                "a model failed, so ScriptedModel(steps=1) is asked: busy",
            )
        ]
        * 2
    )


def test_the_answer_says_who_gave_it() -> None:
    def named(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        response = ChatResponse(message=AssistantMessage.of("x"), model="small")
        return requests.pipe(ops.map(lambda _: Finished(response=response)))

    assert end(ask(Fallback(ScriptedModel(BUSY), named))).model == "small"


def test_if_all_fail_the_last_error_leads_to_those_before() -> None:
    """Law 8."""
    slow = RateLimitError("slow down", provider="second", retry_after_s=7.0)
    wrong = AuthenticationError("no key", provider="third")
    model = Fallback(ScriptedModel(BUSY), ScriptedModel(slow), ScriptedModel(wrong))

    last = failure(model)
    assert isinstance(last, AuthenticationError)
    assert (str(last), last.provider) == ("no key", "third")
    before = last.__context__
    assert isinstance(before, RateLimitError)
    assert before.retry_after_s == 7.0
    assert before.__context__ is BUSY
    assert [each.__context__ for each in (wrong, slow, BUSY)] == [None] * 3


def test_one_error_that_all_fail_with_is_no_circle() -> None:
    last = failure(Fallback(*[failing(BUSY)] * 3))

    found = list[str]()
    while last is not None:
        found.append(str(last))
        last = last.__context__  # type: ignore[assignment]
    assert found == ["busy"] * 3


def test_a_bug_in_the_second_model_is_what_it_is() -> None:
    broken = OSError("broken")

    assert failure(Fallback(ScriptedModel(BUSY), ScriptedModel(broken))) is broken


def test_a_model_that_raises_when_it_is_called_fails_as_any_other() -> None:
    def raises(_: object) -> Observable[ChatEvent]:
        raise OverloadedError("at once")

    assert end(ask(Fallback(raises, ScriptedModel("fine")))).text == "fine"
    assert str(failure(Fallback(ScriptedModel(BUSY), raises))) == "at once"


def spent(tokens: int) -> Usage:
    return Usage(output_tokens=tokens, requests=1)


def broken_off(usage: Usage | None, *deltas: str) -> Reply:
    return Reply(deltas=deltas, error=TruncatedStreamError("half", usage=usage))


def test_tokens_of_answers_that_broke_off_count() -> None:
    first = ScriptedModel(broken_off(spent(3), "a"))
    second = ScriptedModel(Reply(deltas=("b",), usage=spent(4)))

    assert end(ask(Fallback(first, second))).usage == spent(3) + spent(4)


def test_what_an_answer_that_broke_off_has_cost_may_be_unknown() -> None:
    second = Reply(deltas=("b",), usage=spent(4))
    usage = end(
        ask(Fallback(ScriptedModel(broken_off(None, "a")), ScriptedModel(second)))
    ).usage

    assert (usage.requests, usage.output_tokens, usage.sure) == (2, 4, False)


def test_a_request_that_was_turned_away_has_cost_nothing() -> None:
    second = Reply(deltas=("b",), usage=spent(4))

    usage = end(ask(Fallback(ScriptedModel(BUSY), ScriptedModel(second)))).usage
    assert usage == spent(4)


def test_an_error_says_what_all_models_have_cost() -> None:
    """M-27; the errors of the models stay as they are."""
    replies = [broken_off(spent(each), "a") for each in (1, 2, 4)]
    last = failure(Fallback(*map(ScriptedModel, replies)))

    assert isinstance(last, RxAgentError)
    assert last.usage == spent(1) + spent(2) + spent(4)
    assert isinstance(last.__context__, RxAgentError)
    assert last.__context__.usage == spent(2)
    kept = [each.error for each in replies if isinstance(each.error, RxAgentError)]
    assert [each.usage for each in kept] == [spent(1), spent(2), spent(4)]


# What is sent


def test_the_options_of_the_first_model_stay_there() -> None:
    first, second = ScriptedModel(BUSY), ScriptedModel("fine")
    options = ChatOptions(model="big", temperature=0.5, extra={"thinking": True})
    ask(Fallback(first, second), replace(QUESTION, options=options))

    assert first.requests[0].options is options
    assert second.requests[0].options == ChatOptions(temperature=0.5)
    assert second.requests[0] == replace(QUESTION, options=ChatOptions(temperature=0.5))


def test_another_model_may_have_options_of_its_own() -> None:
    def small(request: ChatRequest) -> ChatRequest:
        options = ChatOptions(model="small", extra={"keep_alive": "10m"})
        return replace(request, options=request.options.merged(options))

    second = ScriptedModel("fine")
    model = Fallback(ScriptedModel(BUSY), chain([before(small)], second))
    ask(model, replace(QUESTION, options=ChatOptions(model="big", seed=1)))

    assert second.requests[0].options == ChatOptions(
        model="small", seed=1, extra={"keep_alive": "10m"}
    )


class Film(BaseModel):
    title: str


class Told(ScriptedModel):
    """One that says how it is told the type of an answer."""

    def __init__(self, mode: AnswerMode, *steps: Any) -> None:
        super().__init__(*steps)
        self._mode: AnswerMode = mode

    def answer_mode(self, request: ChatRequest) -> AnswerMode:
        assert request.options.model in (None, "big")
        return self._mode


def test_a_type_is_asked_for_in_a_way_that_all_models_know() -> None:
    def mode(*modes: AnswerMode) -> AnswerMode:
        return Fallback(*(Told(each) for each in modes)).answer_mode(QUESTION)

    assert mode("native", "native") == "native"
    assert mode("native", "tool") == mode("tool", "native") == "tool"
    assert mode("native", "tool", "prompt") == "prompt"
    assert Fallback(Told("native"), ScriptedModel()).answer_mode(QUESTION) == "prompt"


@pytest.mark.parametrize("mode", ["native", "prompt"])
def test_the_second_model_is_told_the_type_of_the_answer(mode: AnswerMode) -> None:
    first, second = Told("native", BUSY), Told(mode, '{"title": "Alien"}')
    agent = Agent(Fallback(first, second), options=ChatOptions(model="big"))

    assert agent.entity(Film, "a film").run() == Film(title="Alien")
    asked = second.requests[0]
    assert (asked.options.response_schema is not None) == (mode == "native")
    assert ("JSON Schema" in asked.messages[0].text) == (mode == "prompt")


# In a tool loop


def test_a_round_that_fails_is_answered_by_the_next_model_and_no_tool_runs_twice() -> (
    None
):
    ran: list[str] = []

    @tool
    def look(at: str) -> Observable[str]:
        """Look."""
        ran.append(at)
        return just(f"{at} is fine")

    first = ScriptedModel(
        Reply(calls=(tool_call("look", at="a"),)),
        Reply(deltas=("Per",), error=BUSY),
        "the end",
    )
    second = ScriptedModel(Reply(calls=(tool_call("look", at="b"),)))
    events = list(Agent(Fallback(first, second), tools=[look]).stream("go"))

    assert ran == ["a", "b"]
    assert end(events).text == "the end"
    [asked] = second.requests
    assert [type(each) for each in asked.messages] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
    ]
    assert asked.origin.round == 1
    kinds = (RoundFinished, ToolStarted, Retracted, Finished)
    assert [type(each) for each in events if isinstance(each, kinds)] == [
        RoundFinished,
        ToolStarted,
        Retracted,
        RoundFinished,
        ToolStarted,
        Finished,
    ]
    assert end(events).usage.requests == 4


def test_the_second_model_may_call_what_a_search_has_found() -> None:
    """V-12: what it was offered is what may run."""

    @tool
    def weather() -> Observable[str]:
        """Tell the weather."""
        return just("4 degrees")

    first = ScriptedModel(
        Reply(calls=(tool_call("tool_search", query="weather"),)), BUSY, "cold"
    )
    second = ScriptedModel(Reply(calls=(tool_call("weather"),)))
    agent = Agent(Fallback(first, second), tools=[weather], advisors=[tool_search()])

    response = agent.call("hi").run()
    results = [each for each in response.transcript if isinstance(each, ToolMessage)]
    assert results[-1].text == "4 degrees"
    assert [each.name for each in second.requests[0].tools] == [
        "tool_search",
        "weather",
    ]


# Time, dispose, laws


def watched(name: str, model: Exchange, closed: list[str]) -> Exchange:
    def close() -> None:
        closed.append(name)

    return lambda requests: model(requests).pipe(ops.finally_action(close))


def test_leaving_closes_whoever_is_at_work_and_asks_no_other() -> None:
    """Law 5: at each moment of an answer of which both models have a part."""
    for moment in range(5, 75, 10):
        time = TestScheduler()
        closed = list[str]()
        first = ScriptedModel(replace(BROKEN_OFF, first_s=10.0, gap_s=10.0))
        second = ScriptedModel(replace(GOOD, first_s=10.0, gap_s=10.0))

        model = Fallback(
            watched("first", first, closed), watched("second", second, closed)
        )
        subscription = just(QUESTION).pipe(model).subscribe(scheduler=time)
        time.advance_to(moment)
        asked = len(first.requests) + len(second.requests)
        assert asked == (1 if moment < 30 else 2)
        subscription.dispose()
        assert closed == ["first", "second"][:asked]
        time.start()
        assert len(first.requests) + len(second.requests) == asked


@pytest.mark.parametrize("count", [1, 2, 3])
def test_leaving_from_inside_asks_no_other(count: int) -> None:
    """Law 5: also where the failure comes while it is being subscribed."""
    first, second = ScriptedModel(BROKEN_OFF), ScriptedModel(GOOD)
    ask_first = just(QUESTION).pipe(Fallback(first, second), ops.take(count))

    assert len(list(Flow[ChatEvent].of(ask_first))) == count
    assert second.requests == []


def test_turns_at_once_do_not_mix() -> None:
    """Law 7: two turns, each with a first model that fails in the middle."""

    def fails(request: ChatRequest) -> Reply:
        words = tuple(f"{request.origin.run_id}{n}" for n in range(3))
        return Reply(deltas=words, gap_s=10.0, error=BUSY)

    def answers(request: ChatRequest) -> Reply:
        words = tuple(f"{request.origin.run_id}!{n}" for n in range(3))
        return Reply(deltas=words, gap_s=10.0)

    model = Fallback(
        ScriptedModel(fails, repeat_last=True), ScriptedModel(answers, repeat_last=True)
    )
    time = TestScheduler()
    seen: dict[str, list[ChatEvent]] = {"a": [], "b": []}
    for number, (name, events) in enumerate(seen.items()):
        asked = just(replace(QUESTION, origin=Origin(run_id=name)))
        asked.pipe(ops.delay(5.0 * number), model).subscribe(
            events.append, scheduler=time
        )
    time.start()

    for name, events in seen.items():
        texts = [each.text for each in events if isinstance(each, TextDelta)]
        assert texts == [f"{name}{n}" for n in range(3)] + [
            f"{name}!{n}" for n in range(3)
        ]
        assert isinstance(events[3], Retracted)
        assert end(events).text == f"{name}!0{name}!1{name}!2"


def test_a_second_subscription_begins_with_the_first_model_again() -> None:
    """Law 2."""
    first, second = ScriptedModel(BUSY, "back"), ScriptedModel("fine")
    answer = just(QUESTION).pipe(Fallback(first, second))

    assert [end(list(Flow[ChatEvent].of(answer))).text for _ in range(2)] == [
        "fine",
        "back",
    ]


def failing(reply: Step) -> Exchange:
    return ScriptedModel(reply, repeat_last=True)


@settings(max_examples=15)
@given(reply=REPLIES, deltas=st.lists(st.text(max_size=3), max_size=3).map(tuple))
def test_it_holds_the_laws_over_any_answer(reply: Reply, deltas: tuple[str]) -> None:
    """Laws 1, 2, 5, 7, 8: a model alone, before another one, and behind it."""
    broken = Reply(deltas=deltas, error=BUSY)
    assert_exchange_laws(Fallback(failing(broken), failing(reply)))
    assert_advisor_laws(lambda inner: Fallback(inner, failing(BUSY)), reply=reply)


def test_it_holds_the_laws() -> None:
    assert_exchange_laws(Fallback(failing(BROKEN_OFF), failing(BUSY), failing(GOOD)))
    assert_advisor_laws(lambda inner: Fallback(inner, failing("never asked")))
    assert_advisor_laws(lambda inner: Fallback(failing(BUSY), inner))
    assert_advisor_laws(lambda inner: Fallback(failing(BROKEN_OFF), inner))


def test_a_piece_costs_the_same_whoever_says_it() -> None:
    """Law 9: one call in Python for each piece, beside those of RxPY."""

    def work(deltas: int, wrap: Callable[[Exchange], Exchange]) -> int:
        model = wrap(failing(Reply(deltas=("x",) * deltas)))
        return calls_made(lambda: just(QUESTION).pipe(model).subscribe())

    def per_piece(wrap: Callable[[Exchange], Exchange]) -> float:
        work(10, wrap)
        return (work(400, wrap) - work(200, wrap)) / 200

    same = per_piece(lambda model: model)
    first = per_piece(lambda model: Fallback(model, model))
    second = per_piece(lambda model: Fallback(failing(BUSY), model))
    assert first == second
    assert first - same <= 3


def test_the_marble_of_the_docstring_is_what_happens() -> None:
    given_, expected = drawn(Fallback.__doc__)
    assert given_ is not None
    response = ChatResponse(message=AssistantMessage.of("yz"))
    letters: Letters = {
        **{letter: TextDelta(text=letter) for letter in "xyz"},
        "q": QUESTION,
        "V": Retracted(reason="busy"),
        "F": Finished(response=response),
    }
    told = replace(response, usage=Usage(requests=1, sure=False))  # of x
    with marbles_testing(timespan=1.0) as (start, cold, _, exp):

        def model(marble: str, error: Exception | None = None) -> Exchange:
            answer = cold(marble, letters, error)
            return lambda requests: requests.pipe(ops.concat_map(lambda _: answer))

        both = Fallback(model("--x--#", BUSY), model("--y--z--F|"))
        got = start(cold(given_, letters, None).pipe(both))
        letters["F"] = Finished(response=told)
        assert comparable(got) == comparable(exp(expected, letters, None))


def test_what_is_no_list_of_models_is_refused_when_built() -> None:
    for wrong in [(), (ScriptedModel(),)]:
        with pytest.raises(ConfigurationError, match="a model and another one"):
            Fallback(*wrong)
    for each in ("gpt", None, ScriptedModel):
        with pytest.raises(ConfigurationError, match="takes models"):
            Fallback(ScriptedModel(), each)  # type: ignore[arg-type]


def test_a_chain_shows_all_its_models() -> None:
    agent = Agent(Fallback(ScriptedModel("a"), ScriptedModel()))

    assert agent.describe().splitlines()[-1].strip() == (
        "Fallback(ScriptedModel(steps=1), ScriptedModel(steps=0))"
    )
