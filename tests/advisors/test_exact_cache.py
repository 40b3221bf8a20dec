"""Answers that were given before: who gets them, and who never does."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import pytest
import reactivex
from hypothesis import given, settings
from hypothesis import strategies as st
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import TestScheduler

from rxagent import Agent, Context, Key, before, tool
from rxagent.advisors import exact_cache, memory, safeguard, tool_loop, validate
from rxagent.caching import AnswerStore, KeptAnswer, MemoryAnswers
from rxagent.decisions import Approve
from rxagent.errors import StoreError, StreamCancelledError
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    TextDelta,
    ToolStarted,
)
from rxagent.guards import guard, redact
from rxagent.memory import MemoryStore
from rxagent.messages import (
    AssistantMessage,
    Image,
    Message,
    SystemMessage,
    Text,
    UserMessage,
)
from rxagent.operators import concat_each, just
from rxagent.requests import ChatOptions, ChatRequest, Origin, ToolSpec
from rxagent.responses import ChatResponse, FinishReason
from rxagent.runtime import LoopScheduler
from rxagent.testing import Reply, ScriptedModel, assert_grammar, tool_call
from rxagent.types import Advisor, Exchange
from rxagent.usage import Usage

TENANT = Key("tenant", str)


def cache(store: AnswerStore | None = None, **options: Any) -> Advisor:
    known: dict[str, Any] = {"namespace": "test", **options}
    return exact_cache(store or MemoryAnswers(), **known)


def ask(text: str = "hello", **more: Any) -> ChatRequest:
    known: dict[str, Any] = {"messages": (UserMessage.of(text),), **more}
    return ChatRequest(**known)


def answers(exchange: Exchange, *requests: ChatRequest) -> list[list[ChatEvent]]:
    """What each comes to, one after the other, while subscribing."""
    return [events_of(just(request).pipe(exchange)) for request in requests]


def events_of(source: Observable[ChatEvent]) -> list[ChatEvent]:
    events: list[ChatEvent] = []
    errors: list[Exception] = []
    source.subscribe(events.append, errors.append)
    if errors:
        raise errors[0]
    assert_grammar(events)
    return events


def end(events: Sequence[ChatEvent]) -> ChatResponse:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.response


def said(events: Sequence[ChatEvent]) -> str:
    return "".join(each.text for each in events if isinstance(each, TextDelta))


def test_a_hit_answers_without_a_model_call_in_deltas_and_says_so() -> None:
    """S001-81."""
    reply = Reply(
        reasoning=("h", "m"), deltas=("Hel", "lo"), usage=Usage(requests=1, sure=True)
    )
    model = ScriptedModel(reply)
    request = ask(context=Context({"a": 1}), origin=Origin(run_id="r"))

    first, second = answers(cache()(model), request, request)

    assert len(model.requests) == 1
    assert [each for each in second if not isinstance(each, Finished)] == [
        ReasoningDelta(text="hm"),
        TextDelta(text="Hello"),
    ]
    assert (end(first).cached, end(second).cached) == (False, True)
    assert end(second).usage == Usage()
    assert end(second).usage.requests == 0
    same = replace(end(first), usage=Usage(), cached=True)
    assert end(second) == same
    assert {each.origin.run_id for each in second} == {"r"}


def test_call_and_stream_share_what_is_kept() -> None:
    """S001-81: on both paths; the wire alone differs."""
    model = ScriptedModel("one")
    agent = Agent(model, advisors=[cache()])

    assert agent.call("hello", options=ChatOptions(stream=False)).run().text == "one"
    assert agent.stream("hello").text().run() == "one"
    assert len(model.requests) == 1


WEATHER = ToolSpec(name="weather", description="Tell it.", parameters={})
HELLO = UserMessage.of("hello")

OTHERS: dict[str, ChatRequest] = {
    "question": ask("hello!"),
    "system": ask(messages=(SystemMessage.of("Be brief."), HELLO)),
    "other system": ask(messages=(SystemMessage.of("Be long."), HELLO)),
    "history": ask(
        messages=(UserMessage.of("hi"), AssistantMessage.of("hi"), HELLO),
    ),
    "other history": ask(
        messages=(UserMessage.of("hi"), AssistantMessage.of("ho"), HELLO),
    ),
    "picture": ask(messages=(UserMessage.of("hello", Image(url="http://x/a.png")),)),
    "other picture": ask(messages=(UserMessage.of("hello", Image(data=b"1")),)),
    "pieces": ask(messages=(UserMessage.of("hel", "lo"),)),
    "tools": ask(tools=(WEATHER,)),
    "description": ask(tools=(replace(WEATHER, description="Say it."),)),
    "parameters": ask(tools=(replace(WEATHER, parameters={"type": "object"}),)),
    "model": ask(options=ChatOptions(model="small")),
    "temperature": ask(options=ChatOptions(temperature=1.0)),
    "zero": ask(options=ChatOptions(temperature=0.0)),
    "max_tokens": ask(options=ChatOptions(max_tokens=5)),
    "stop": ask(options=ChatOptions(stop="x")),
    "seed": ask(options=ChatOptions(seed=1)),
    "schema": ask(options=ChatOptions(response_schema={"type": "object"})),
    "effort": ask(options=ChatOptions(reasoning_effort="low")),
    "extra": ask(options=ChatOptions(extra={"a": 1})),
    "choice": ask(options=ChatOptions(tool_choice="none")),
    "parallel": ask(options=ChatOptions(parallel_tool_calls=False)),
    "top_p": ask(options=ChatOptions(top_p=0.5)),
    "tenant": ask(context=Context({"tenant": "ann"})),
    "other tenant": ask(context=Context({"tenant": "bob"})),
    "no tenant": ask(context=Context({"tenant": None})),
    "kind of tenant": ask(context=Context({"tenant": 1})),
    "truth": ask(context=Context({"tenant": True})),
}


def test_whatever_shapes_an_answer_is_part_of_what_was_asked() -> None:
    """S001-82's cure, V-20; acceptance 74, 75."""
    model = ScriptedModel(lambda _: f"answer {len(model.requests)}", repeat_last=True)
    exchange = cache()(model)
    requests = [ask(), *OTHERS.values()]

    first = [end(each).text for each in answers(exchange, *requests)]
    second = [end(each) for each in answers(exchange, *requests)]

    assert len(set(first)) == len(requests)
    assert [each.text for each in second] == first
    assert all(each.cached for each in second)


def test_ids_marks_and_runs_shape_no_answer() -> None:
    model = ScriptedModel("one")
    marked = UserMessage(content=(Text(text="hello"),), mark="pinned")
    again = ask(messages=(marked,), origin=Origin(run_id="other", round=3))

    answers(cache()(model), ask(), again)

    assert len(model.requests) == 1


def test_what_has_no_digest_passes_by_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = ScriptedModel("one", "two")
    request = ask(context=Context({"socket": object()}))

    both = answers(cache()(model), request, request)

    assert [end(each).text for each in both] == ["one", "two"]
    assert "builtins.object has no digest" in caplog.text


def test_a_key_names_what_of_the_context_counts() -> None:
    def tenant(request: ChatRequest) -> object:
        return request.context[TENANT]

    model = ScriptedModel("of ann", "of bob")
    exchange = cache(key=tenant)(model)
    contexts = [
        Context({"tenant": "ann", "trace": object()}),
        Context({"tenant": "bob"}),
        Context({"tenant": "ann"}),
    ]

    found = answers(exchange, *(ask(context=each) for each in contexts))

    assert [end(each).text for each in found] == ["of ann", "of bob", "of ann"]
    assert "trace" in end(found[0]).context
    with pytest.raises(LookupError, match="tenant"):
        answers(exchange, ask())


NAMES = st.text(max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | NAMES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner),
    max_leaves=4,
)


@settings(max_examples=60)
@given(
    one=st.dictionaries(NAMES, VALUES, max_size=3),
    other=st.dictionaries(NAMES, VALUES, max_size=3),
    namespaces=st.tuples(NAMES, NAMES),
)
def test_two_tenants_never_share(
    one: dict[str, object], other: dict[str, object], namespaces: tuple[str, str]
) -> None:
    """V-20, over all namespaces and contexts, in one store."""
    store = MemoryAnswers()
    model = ScriptedModel(lambda asked: asked.origin.run_id, repeat_last=True)
    contexts = (one, other)

    texts = [
        said(
            answers(
                cache(store, namespace=namespace)(model),
                ask(context=Context(context), origin=Origin(run_id=name)),
            )[0]
        )
        for name, namespace, context in zip(
            ("me", "you"), namespaces, contexts, strict=True
        )
    ]

    is_same = (namespaces[0], one) == (namespaces[1], other)
    if not is_same:
        assert texts == ["me", "you"]


ENDS: tuple[FinishReason, ...] = (
    "length",
    "content_filter",
    "refusal",
    "pause",
    "interrupted",
    "unknown",
    "tool_limit",
    "return_direct",
    "blocked",
    "paused",
)


@pytest.mark.parametrize("reason", ENDS)
def test_an_answer_that_did_not_end_by_itself_is_not_kept(reason: FinishReason) -> None:
    """V-20."""
    model = ScriptedModel(Reply(deltas=("half",), finish_reason=reason), "whole")

    texts = [end(each).text for each in answers(cache()(model), ask(), ask())]

    assert texts == ["half", "whole"]


@pytest.mark.parametrize("reply", ["", " \n", Reply(calls=(tool_call("weather"),))])
def test_an_answer_without_words_is_not_kept(reply: str | Reply) -> None:
    model = ScriptedModel(reply, "whole")
    answers(cache()(model), ask(), ask())
    model.assert_used_up()


def test_what_an_advisor_on_the_right_blocks_is_not_kept() -> None:
    store = MemoryAnswers()
    exchange = cache(store)(safeguard(["hello"])(ScriptedModel()))
    assert end(answers(exchange, ask())[0]).blocked_by == "safeguard"
    assert repr(store) == "MemoryAnswers(0 of 1000)"


def test_a_failure_keeps_nothing() -> None:
    """V-25."""
    broken = OSError("broken")
    model = ScriptedModel(Reply(deltas=("ha",), error=broken), "whole")
    exchange = cache()(model)

    with pytest.raises(OSError, match="broken"):
        answers(exchange, ask())
    assert end(answers(exchange, ask())[0]).text == "whole"


def with_events(*events: ChatEvent) -> Advisor:
    """Puts events in front of an answer."""
    return lambda inner: lambda asked: reactivex.concat(just(*events), inner(asked))


@pytest.mark.parametrize(("is_good", "calls"), [(True, 1), (False, 2)])
def test_an_answer_that_a_check_has_found_bad_is_not_kept(
    is_good: bool, calls: int
) -> None:
    model = ScriptedModel("hi", repeat_last=True)
    check = validate(check=lambda _: is_good, max_retries=0)
    answers(cache()(check(model)), ask(), ask())
    assert len(model.requests) == calls


def test_what_was_retracted_is_not_kept() -> None:
    spoilt = with_events(TextDelta(text="wrong"), Retracted(reason="not json"))
    exchange = cache()(spoilt(ScriptedModel("right")))

    _, second = answers(exchange, ask(), ask())

    assert said(second) == "right"


def test_a_hit_delivers_what_a_guard_on_the_right_has_made_of_it() -> None:
    """Law 4: delivery is not the answer, the second time neither."""
    exchange = cache()(guard(redact(r"\d+"))(ScriptedModel("code 1234.")))

    first, second = answers(exchange, ask(), ask())

    assert said(second) == said(first) == "code [REDACTED]."
    assert end(second).text == end(first).text == "code 1234."


@tool
def weather() -> str:
    """Tell the weather."""
    return "sun"


def weather_agent(advisors: list[Advisor]) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(
        Reply(deltas=("Wait.",), calls=(tool_call("weather"),)),
        "Sun.",
        Reply(calls=(tool_call("weather"),)),
        "Sun again.",
    )
    return Agent(model, tools=[weather], advisors=advisors), model


def test_a_turn_whose_tools_have_run_is_asked_again() -> None:
    """A side effect is not replayed in silence."""
    agent, model = weather_agent([cache(), tool_loop()])
    texts = [agent.call("How is it?").run().text for _ in range(2)]
    assert texts == ["Sun.", "Sun again."]
    model.assert_used_up()


def test_tools_keeps_such_a_turn_and_replays_its_answer_alone() -> None:
    agent, model = weather_agent([cache(tools=True), tool_loop()])
    agent.call("How is it?").run()

    events = list(agent.stream("How is it?"))

    assert len(model.requests) == 2
    assert said(events) == "Sun."
    assert not any(isinstance(each, ToolStarted) for each in events)
    assert end(events).transcript == (end(events).message,)


def test_a_turn_that_is_resumed_passes_by() -> None:
    """Its request is that of the turn that has paused."""
    model = ScriptedModel(
        Reply(calls=(tool_call("weather"),)),
        "Sun.",
        Reply(calls=(tool_call("weather"),)),
    )
    loop = tool_loop(needs_approval=True)
    everybody = cache(key=lambda _: None, tools=True)
    agent = Agent(model, tools=[weather], advisors=[everybody, loop])

    paused = agent.call("How is it?").run()
    assert paused.snapshot is not None
    approve = {each: Approve() for each in paused.snapshot.pending}
    events = list(agent.resume(paused.snapshot, approve))

    assert said(events) == "Sun."
    assert agent.call("How is it?").run().finish_reason == "paused"


def test_right_of_the_loop_it_keeps_requests_and_the_tools_run() -> None:
    """A call is decided anew; the answer to its result is looked up."""
    calls = tuple(replace(tool_call("weather"), id="c1") for _ in range(1))
    model = ScriptedModel(Reply(calls=calls), "Sun.", Reply(calls=calls))
    agent = Agent(model, tools=[weather], advisors=[tool_loop(), cache()])

    first = agent.call("How is it?").run()
    events = list(agent.stream("How is it?"))

    assert (first.text, end(events).text) == ("Sun.", "Sun.")
    assert any(isinstance(each, ToolStarted) for each in events)
    assert not end(events).cached, "a model was asked for a part of the turn"
    assert end(events).usage.requests == 1
    model.assert_used_up()


def test_right_of_the_loop_a_turn_of_one_cached_request_is_cached() -> None:
    model = ScriptedModel("Hi.")
    agent = Agent(model, tools=[weather], advisors=[tool_loop(), cache()])
    agent.call("hello").run()
    again = agent.call("hello").run()
    assert again.cached
    assert again.usage == Usage()


def test_a_memory_on_the_left_stores_each_turn_that_is_answered_from_the_cache() -> (
    None
):
    """S001-82: the cache is no memory, and no memory is turned off by it."""
    store = MemoryStore()

    def forget(request: ChatRequest) -> ChatRequest:
        return replace(request, messages=request.messages[-1:])

    model = ScriptedModel("Hi.")
    agent = Agent(
        model,
        advisors=[memory(store), before(forget), cache()],
        context={"rxagent.conversation_id": "ann"},
    )
    for _ in range(3):
        agent.call("hello").run()

    kept = store.load("ann")
    messages: list[Message] = []
    kept.subscribe(lambda found: messages.extend(found.messages))
    assert [each.text for each in messages] == ["hello", "Hi."] * 3
    assert len({each.id for each in messages}) == 6
    assert len(model.requests) == 1


def test_behind_a_memory_another_history_is_another_question() -> None:
    model = ScriptedModel("one", "two")
    agent = Agent(
        model,
        advisors=[memory(MemoryStore()), cache()],
        context={"rxagent.conversation_id": "ann"},
    )
    assert [agent.call("next?").run().text for _ in range(2)] == ["one", "two"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Questions on one clock of virtual time."""

    exchange: Exchange
    clock: TestScheduler

    def at(self, when_s: float, request: ChatRequest | None = None) -> Asked:
        asked = Asked(clock=self.clock)

        def subscribe(*_: object) -> None:
            asked.subscribe(just(request or ask()).pipe(self.exchange))

        self.clock.schedule_absolute(when_s, subscribe)
        return asked


class Asked:
    """What one question has come to, and when."""

    def __init__(self, *, clock: TestScheduler) -> None:
        self.clock = clock
        self.events: list[ChatEvent] = []
        self.errors: list[Exception] = []
        self.ended_at: float | None = None
        self.on_end: Callable[[], None] = lambda: None

    def subscribe(self, source: Observable[ChatEvent]) -> None:
        self.left = source.subscribe(
            self.events.append, self.failed, self.ended, scheduler=self.clock
        )

    def failed(self, error: Exception) -> None:
        self.errors.append(error)
        self.ended()

    def ended(self) -> None:
        self.ended_at = self.clock.clock
        self.on_end()

    def leave_at(self, when_s: float) -> Asked:
        self.clock.schedule_absolute(when_s, lambda *_: self.left.dispose())
        return self

    @property
    def text(self) -> str:
        return said(self.events)


def asking(model: Exchange, store: AnswerStore | None = None, **more: Any) -> Asking:
    return Asking(exchange=cache(store, **more)(model), clock=TestScheduler())


def slow(text: str = "yes", error: Exception | None = None) -> Reply:
    return Reply(deltas=(text,), first_s=10, error=error)


def test_an_answer_is_good_for_its_time_by_the_clock_of_the_stream() -> None:
    model = ScriptedModel("one", "two")
    questions = asking(model, ttl_s=60)
    asked = [questions.at(when) for when in (100, 159, 160)]

    questions.clock.start()

    assert [each.text for each in asked] == ["one", "one", "two"]


def test_of_a_thousand_who_ask_at_once_one_asks_the_model() -> None:
    model = ScriptedModel(slow())
    questions = asking(model)
    asked = [questions.at(100 + n / 1_000) for n in range(1_000)]

    questions.clock.start()

    assert len(model.requests) == 1
    assert {each.text for each in asked} == {"yes"}
    # Virtual time ticks after each hundred things that happen at once.
    assert all(110 <= (each.ended_at or 0) <= 120 for each in asked)
    assert [end(each.events).cached for each in asked].count(False) == 1
    for each in asked:
        assert_grammar(each.events)


class Slow(MemoryAnswers):
    """A store that takes its time to look something up."""

    looked = 0

    def get(self, key: str) -> Observable[KeptAnswer | None]:
        self.looked += 1
        return reactivex.timer(5).pipe(
            concat_each(lambda _: MemoryAnswers.get(self, key))
        )


def test_who_asks_while_it_is_looked_up_looks_no_more() -> None:
    store = Slow()
    questions = asking(ScriptedModel("yes"), store)
    asked = [questions.at(when) for when in (100, 200, 201, 202)]

    questions.clock.start()

    assert [each.ended_at for each in asked] == [105, 205, 205, 205]
    assert store.looked == 2


def test_when_the_first_one_fails_the_next_one_asks() -> None:
    broken = OSError("broken")
    model = ScriptedModel(slow(error=broken), slow())
    questions = asking(model)
    asked = [questions.at(when) for when in (100, 101, 102)]

    questions.clock.start()

    assert len(model.requests) == 2
    assert [each.errors for each in asked] == [[broken], [], []]
    assert [each.text for each in asked[1:]] == ["yes", "yes"]
    assert [each.ended_at for each in asked] == [110, 120, 120]


def test_a_thousand_failures_in_a_row_overflow_no_stack() -> None:
    model = ScriptedModel(slow(error=OSError()), OSError("broken"), repeat_last=True)
    questions = asking(model)
    asked = [questions.at(100) for _ in range(1_000)]

    questions.clock.start()

    assert all(len(each.errors) == 1 for each in asked)


def test_when_the_first_one_leaves_the_next_one_asks() -> None:
    model = ScriptedModel(slow("a"), slow("b"))
    questions = asking(model)
    first = questions.at(100).leave_at(105)
    others = [questions.at(when) for when in (101, 102)]

    questions.clock.start()

    assert first.events == []
    assert [each.text for each in others] == ["b", "b"]
    assert [each.ended_at for each in others] == [115, 115]


def test_who_waits_and_leaves_cancels_nobody() -> None:
    model = ScriptedModel(slow())
    questions = asking(model)
    first = questions.at(100)
    second = questions.at(101).leave_at(105)
    third = questions.at(102)

    questions.clock.start()

    assert len(model.requests) == 1
    assert second.events == []
    assert (first.text, third.text) == ("yes", "yes")


def test_who_leaves_as_the_answer_comes_gets_none() -> None:
    questions = asking(ScriptedModel(slow()))
    first, second = questions.at(100), questions.at(101)
    first.on_end = lambda: second.left.dispose()

    questions.clock.start()

    assert (first.text, second.events) == ("yes", [])


def test_when_all_have_left_the_model_is_left_and_nothing_is_kept() -> None:
    """Law 5."""
    model = ScriptedModel(slow("a"), slow("b"))
    questions = asking(model)
    questions.at(100).leave_at(106)
    questions.at(101).leave_at(105)
    late = questions.at(120)

    questions.clock.start()

    assert (late.text, late.ended_at) == ("b", 130)
    assert len(model.requests) == 2


def test_one_who_leaves_as_its_turn_comes_hands_it_on() -> None:
    model = ScriptedModel(slow("a"), slow("b"))
    questions = asking(model)
    questions.at(100).leave_at(105)
    questions.at(101).leave_at(105)
    third = questions.at(102)

    questions.clock.start()

    assert (third.text, third.ended_at) == ("b", 115)


def test_an_answer_that_is_not_kept_lets_all_ask_at_once() -> None:
    """They would wait for each other else, and in vain."""
    half = Reply(deltas=("half",), finish_reason="length", first_s=10)
    model = ScriptedModel(half, repeat_last=True)
    questions = asking(model)
    asked = [questions.at(when) for when in (100, 101, 102)]

    questions.clock.start()

    assert [each.ended_at for each in asked] == [110, 120, 120]


def test_one_whose_loop_is_closed_keeps_nobody_waiting() -> None:
    closed = asyncio.new_event_loop()
    closed.close()
    model = ScriptedModel(slow(error=OSError()), slow("yes"))
    questions = asking(model)
    questions.at(100)
    gone = Asked(clock=questions.clock)

    def subscribe(*_: object) -> None:
        asked = just(ask()).pipe(questions.exchange)
        asked.subscribe(gone.events.append, scheduler=LoopScheduler(closed))

    questions.clock.schedule_absolute(101, subscribe)
    third = questions.at(102)

    questions.clock.start()

    assert (third.text, third.ended_at) == ("yes", 120)
    assert gone.events == []


def test_one_who_names_no_scheduler_goes_on_in_the_background() -> None:
    questions = asking(ScriptedModel(slow()))
    done = threading.Event()
    events: list[ChatEvent] = []

    def subscribe(*_: object) -> None:
        asked = just(ask()).pipe(questions.exchange)
        asked.subscribe(events.append, on_completed=done.set)

    questions.at(100)
    questions.clock.schedule_absolute(101, subscribe)
    questions.clock.start()

    assert done.wait(5)
    assert said(events) == "yes"


def test_a_stream_that_lacks_its_end_lets_the_others_ask() -> None:
    """Whose fault it is says the agent; see `one_finished`."""
    model = ScriptedModel(slow(), "yes")

    def broken_once(asked: Observable[ChatRequest]) -> Observable[ChatEvent]:
        is_first = not model.requests
        return model(asked).pipe(ops.filter(lambda _: not is_first))

    questions = asking(broken_once)
    first, second = questions.at(100), questions.at(101)

    questions.clock.start()

    assert (first.events, second.text) == ([], "yes")


def test_other_questions_do_not_wait() -> None:
    model = ScriptedModel(slow(), repeat_last=True)
    questions = asking(model)
    asked = [questions.at(100, ask(text)) for text in "ab"]

    questions.clock.start()

    assert [each.ended_at for each in asked] == [110, 110]


def test_those_who_wait_on_other_loops_go_on_there() -> None:
    model = ScriptedModel(Reply(deltas=("yes",), first_s=0.05))
    agent = Agent(model, advisors=[cache()])

    async def here() -> list[str]:
        responses = await asyncio.gather(*(agent.call("hello") for _ in range(5)))
        return [each.text for each in responses]

    async def everywhere() -> list[list[str]]:
        def there() -> list[str]:
            return asyncio.run(here())

        others = asyncio.to_thread(there), asyncio.to_thread(there)
        return [*await asyncio.gather(here(), *others)]

    assert asyncio.run(everywhere()) == [["yes"] * 5] * 3
    assert len(model.requests) == 1


WHO: ContextVar[str] = ContextVar("who", default="nobody")


def test_one_whose_turn_comes_asks_with_variables_of_its_own() -> None:
    """Not with those of the one who has failed, in whose callback that happens."""
    seen: list[str] = []

    def step(_: ChatRequest) -> Reply:
        seen.append(WHO.get())
        return Reply(
            deltas=("yes",), first_s=0.01, error=OSError() if not seen[1:] else None
        )

    agent = Agent(ScriptedModel(step, repeat_last=True), advisors=[cache()])

    async def ask_as(name: str) -> object:
        WHO.set(name)
        return await agent.call("hello")

    async def both() -> None:
        asked = ask_as("ann"), ask_as("bob")
        await asyncio.gather(*asked, return_exceptions=True)

    asyncio.run(both())
    assert seen == ["ann", "bob"]


class Broken:
    """A store that fails, at the call or later."""

    def __init__(self, fail: Callable[[], Observable[object]]) -> None:
        self.fail = fail

    def get(self, key: str) -> Observable[KeptAnswer | None]:
        return self.fail()  # type: ignore[return-value]

    def put(
        self, key: str, answer: KeptAnswer, *, ttl_s: float | None
    ) -> Observable[tuple[str, ...]]:
        return self.fail()  # type: ignore[return-value]

    def clear(self) -> Observable[int]:
        return self.fail()  # type: ignore[return-value]


def at_the_call() -> Observable[object]:
    raise StoreError("", "is down")


def later() -> Observable[object]:
    return reactivex.throw(StoreError("", "is down"))


@pytest.mark.parametrize(
    ("fail", "problem"),
    [
        (at_the_call, "the store is down"),
        (later, "the store is down"),
        (reactivex.empty, "the store emitted 0 items, and it has to emit one"),
    ],
)
def test_a_store_that_fails_is_logged_and_the_model_asked(
    fail: Callable[[], Observable[object]],
    problem: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Law 8; and a cache is no reason for an answer to fail."""
    model = ScriptedModel("one", "two")
    with caplog.at_level(logging.WARNING):
        found = answers(cache(Broken(fail))(model), ask(), ask())

    assert [end(each).text for each in found] == ["one", "two"]
    told = [each.getMessage() for each in caplog.records]
    looked = f"an answer cannot be looked up: {problem}"
    assert told == [looked, f"an answer cannot be kept: {problem}"] * 2


def test_a_loop_that_is_ending_is_no_failure_of_the_store() -> None:
    ending = StreamCancelledError("the loop is ending")
    model = ScriptedModel()
    with pytest.raises(StreamCancelledError):
        answers(cache(Broken(lambda: reactivex.throw(ending)))(model), ask())
    assert model.requests == []


def test_it_shows_its_settings_and_nothing_that_was_said() -> None:
    advisor = cache()
    answers(advisor(ScriptedModel("secret answer")), ask("secret question"))
    shown = "exact_cache(namespace='test', ttl_s=3600.0, tools=False)"
    assert repr(advisor) == shown


def test_a_wrong_option_is_refused_at_once() -> None:
    wrongs: list[dict[str, Any]] = [
        {"ttl_s": 0},
        {"key": "tenant"},
        {"namespace": None},
        {"store": "answers.db"},
    ]
    for wrong in wrongs:
        [name] = wrong
        with pytest.raises(ValueError, match=name):
            cache(**wrong)
