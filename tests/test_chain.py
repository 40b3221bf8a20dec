from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing.marbles import marbles_testing

from rxagent.chain import after, around, before, chain
from rxagent.errors import AdvisorError
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.messages import AssistantMessage, UserMessage
from rxagent.named import Named, Order, by_order, name_of, named
from rxagent.offered import OFFERS, Offers
from rxagent.operators import just, transduce
from rxagent.requests import ChatRequest, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.testing import ScriptedModel, assert_advisor_laws
from rxagent.types import Advisor, Exchange
from tests.marbles import Letters, comparable, drawn
from tests.operators.test_expand_rounds import depth

QUESTION = ChatRequest(messages=(UserMessage.of("hi"),))


def probe(name: str, seen: list[str]) -> Advisor:
    """Note the way in and the way back."""

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        seen.append(f"{name} in")

        def note(event: ChatEvent) -> None:
            if isinstance(event, Finished):
                seen.append(f"{name} back")

        return just(request).pipe(inner, ops.do_action(note))

    return named(name, around(handle))


def ask(exchange: Exchange, request: ChatRequest = QUESTION) -> list[ChatEvent]:
    events: list[ChatEvent] = []
    errors: list[Exception] = []
    just(request).pipe(exchange).subscribe(events.append, errors.append)
    if errors:
        raise errors[0]
    return events


def test_the_list_is_the_order_and_the_first_is_outermost_on_both_ways() -> None:
    """S000-5, law 6."""
    seen: list[str] = []

    ask(chain([probe("a", seen), probe("b", seen)], ScriptedModel("hello")))

    assert seen == ["a in", "b in", "b back", "a back"]


def test_an_empty_chain_is_the_model_itself() -> None:
    """S002-16."""
    model = ScriptedModel()

    assert chain([], model) is model


def test_chains_compose_and_an_advisor_that_does_nothing_changes_nothing() -> None:
    """M-10: identity and composition; plain and deferred results have one shape."""

    def run(build: Callable[[list[str], Exchange], Exchange]) -> list[object]:
        seen: list[str] = []
        events = ask(build(seen, ScriptedModel("hello")))
        return [*seen, *events]

    def a(seen: list[str]) -> Advisor:
        return probe("a", seen)

    def b(seen: list[str]) -> Advisor:
        return probe("b", seen)

    whole = run(lambda seen, model: chain([a(seen), b(seen)], model))

    assert whole[:4] == ["a in", "b in", "b back", "a back"]
    assert whole == run(lambda seen, model: chain([a(seen)], chain([b(seen)], model)))
    assert whole == run(lambda seen, model: chain([a(seen), _same, b(seen)], model))
    later = after(lambda source: reactivex.defer(lambda _: source))
    assert whole == run(lambda seen, model: chain([a(seen), later, b(seen)], model))


def test_inner_can_be_asked_any_number_of_times_and_outer_runs_once() -> None:
    """S000-3, S003-2, V-4: no copy of the chain is needed."""
    seen: list[str] = []
    model = ScriptedModel("one", "two", "three")

    def best_of_three(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        return just(request, request, request).pipe(inner, ops.take_last(1))

    ask(chain([probe("a", seen), around(best_of_three), probe("b", seen)], model))

    assert seen == ["a in", *["b in", "b back"] * 3, "a back"]
    model.assert_used_up()


def test_retry_asks_the_inner_chain_again() -> None:
    """S001-136, V-4."""
    model = ScriptedModel(OSError("once"), "fine")

    events = ask(chain([after(ops.retry(2))], model))

    assert isinstance(events[-1], Finished)
    assert events[-1].response.text == "fine"


def test_building_a_chain_does_nothing() -> None:
    """Law 2."""
    seen: list[str] = []
    model = ScriptedModel("hello")

    just(QUESTION).pipe(chain([probe("a", seen)], model))

    assert (seen, model.requests) == ([], [])


def test_before_rewrites_the_request() -> None:
    model = ScriptedModel("hello")

    def shout(request: ChatRequest) -> ChatRequest:
        text = cast("UserMessage", request.messages[-1]).text.upper()
        return replace(request, messages=(UserMessage.of(text),))

    ask(chain([before(shout)], model))

    assert model.requests[0].messages == (UserMessage.of("HI"),)


def test_the_state_of_an_operator_is_fresh_for_each_request() -> None:
    """S002-9."""
    exchange = chain([after(ops.skip(1))], ScriptedModel("a", "b"))

    events: list[ChatEvent] = []
    just(QUESTION, QUESTION).pipe(exchange).subscribe(events.append)

    assert [type(event) for event in events] == [Finished, Finished]


class _Marks:
    """Adds a mark to each text, and one more event at the end."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def feed(self, event: ChatEvent, /) -> tuple[ChatEvent, ...]:
        if isinstance(event, TextDelta):
            return (replace(event, text=event.text + self._mark),)
        return (event,)

    def flush(self) -> tuple[ChatEvent, ...]:
        return ()


def test_neighbours_that_rewrite_events_are_one_step_deep() -> None:
    """Law 6, and the depth of the stack: forty advisors cost no forty calls."""

    def marks(mark: str) -> Advisor:
        return named(mark, after(transduce(lambda: _Marks(mark))))

    def depth_of(count: int) -> int:
        depths: list[int] = []
        advisors = [marks(str(n)) for n in range(count)]
        source = just(QUESTION).pipe(chain(advisors, ScriptedModel("x")))
        source.subscribe(lambda _: depths.append(depth()))
        return max(depths)

    [first, *_] = ask(chain([marks("a"), marks("b"), marks("c")], ScriptedModel("x")))

    assert first == TextDelta(text="xcba")
    assert depth_of(40) == depth_of(2)


def _forgets(*_: object) -> Any:
    """Return nothing, as a function without a return does."""


@pytest.mark.parametrize(
    ("advisor", "expected"),
    [
        (before(_forgets), "a ChatRequest"),
        (after(_forgets), "an Observable"),
        (around(_forgets), "an Observable"),
    ],
    ids=["before", "after", "around"],
)
def test_an_advisor_that_returns_nothing_fails_with_its_name(
    advisor: Advisor, expected: str
) -> None:
    """S001-107, S004-3."""
    with pytest.raises(
        AdvisorError, match=f"'_forgets' returned None where {expected}"
    ):
        ask(chain([advisor], ScriptedModel("hello")))


def test_an_advisor_that_makes_no_exchange_fails_when_the_chain_is_built() -> None:
    with pytest.raises(AdvisorError, match="'_forgets' returned None where an exch"):
        chain([_forgets], ScriptedModel())


def test_an_operator_in_the_place_of_an_advisor_fails_when_the_chain_is_built() -> None:
    operator: Any = ops.map(lambda event: event)

    with pytest.raises(AdvisorError, match=r"an exchange \(see after\) was"):
        chain([operator], ScriptedModel())


def test_a_request_that_is_no_stream_fails_with_what_to_write() -> None:
    def asks(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        return inner(cast("Any", request))

    with pytest.raises(AdvisorError, match=r"asks' must ask just\(request\)\.pipe\("):
        ask(chain([around(asks)], ScriptedModel()))


def test_errors_pass_with_their_own_type() -> None:
    """S001-117, S001-118."""
    broken = OSError("broken")

    def fails(_: ChatRequest) -> ChatRequest:
        raise broken

    seen: list[str] = []
    for exchange in (
        chain([probe("a", seen)], ScriptedModel(broken)),
        chain([probe("a", seen), before(fails)], ScriptedModel("hello")),
    ):
        with pytest.raises(OSError, match="broken") as at:
            ask(exchange)
        assert at.value is broken


def test_equal_orders_keep_their_place_and_others_are_sorted() -> None:
    """S004-6, S004-7, S001-8, D-5, V-1."""
    first, second = named("first", _same), named("second", _same)
    audit = named("audit", _same, order=Order.AUDIT)

    ordered = by_order([first, _same, second, audit])

    assert ordered == [audit, first, _same, second]


def test_the_bands_are_in_the_documented_order() -> None:
    """S001-113."""
    assert sorted(Order) == [
        Order.FIRST,
        Order.AUDIT,
        Order.GUARD,
        Order.MEMORY,
        Order.RETRIEVAL,
        Order.CACHE,
        Order.VALIDATE,
        Order.TOOL_LOOP,
        Order.IN_LOOP,
        Order.DEFAULT,
        Order.LAST_LOG,
        Order.LAST,
    ]


def _same(inner: Exchange) -> Exchange:
    return inner


def test_the_text_of_an_advisor_is_short() -> None:
    """S001-10, S001-116."""
    advisor = named("limit", _same, settings="n=3")

    assert repr(advisor) == "limit(n=3)"
    assert name_of(advisor) == "limit"
    assert name_of(_same) == "_same"
    assert name_of(cast("Named", advisor)) == "limit"


@pytest.mark.parametrize(
    "advisor",
    [
        _same,
        before(lambda request: request),
        after(ops.do_action(lambda _: None)),
        around(lambda request, inner: just(request).pipe(inner)),
    ],
    ids=["the rest itself", "before", "after", "around"],
)
def test_the_three_shapes_hold_the_laws(advisor: Advisor) -> None:
    assert_advisor_laws(advisor)


def _unchanged(request: ChatRequest) -> ChatRequest:
    return request


def _upper(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
    def upper(event: ChatEvent) -> ChatEvent:
        if isinstance(event, TextDelta):
            return replace(event, text=event.text.upper())
        return event

    return source.pipe(ops.map(upper))


@pytest.mark.parametrize("make", [before, after, around])
def test_the_marble_of_the_docstring_is_what_happens(
    make: Callable[..., Advisor],
) -> None:
    given, expected = drawn(make.__doc__)
    assert given is not None
    response = ChatResponse(message=AssistantMessage.of("ab"))
    letters: Letters = {
        **{letter: TextDelta(text=letter) for letter in "abcAB"},
        "q": QUESTION,
        "F": Finished(response=response),
    }
    with marbles_testing(timespan=1.0) as (start, cold, _, exp):

        def inner(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
            answers = cold("--a--b--F|", letters, None)
            return requests.pipe(ops.concat_map(lambda _: answers))

        def answer(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
            return cold("-c-F|", letters, None)

        arguments: dict[Any, Any] = {before: _unchanged, after: _upper, around: answer}
        advised = make(arguments[make])(inner)
        got = start(cold(given, letters, None).pipe(advised))
        assert comparable(got) == comparable(exp(expected, letters, None))


def test_a_block_is_one_short_line_to_write() -> None:
    """S001-110, S004-2."""
    refusal = Finished(response=ChatResponse(message=AssistantMessage.of("no")))
    model = ScriptedModel()

    events = ask(chain([around(lambda request, inner: just(refusal))], model))

    assert events == [refusal]
    assert model.requests == []


def test_completion_without_an_answer_passes_here_and_is_caught_by_the_agent() -> None:
    assert ask(chain([around(lambda request, inner: reactivex.empty())], _same_)) == []


def _same_(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
    return reactivex.empty()


def test_a_loop_is_told_what_the_advisors_right_of_it_offer() -> None:
    """Outermost first, and nobody else is told."""

    def adds(name: str) -> Advisor:
        def offered(request: ChatRequest) -> ChatRequest:
            spec = ToolSpec(name=name, description="", parameters={})
            return replace(request, tools=(*request.tools, spec))

        return named(name, before(offered), offer=ops.map(offered))

    told: list[Offers | None] = []

    def tell(request: ChatRequest) -> ChatRequest:
        told.append(request.context.get(OFFERS))
        return request

    loop = named("loop", before(tell), owns_tools=True)
    advisors = [adds("left"), before(tell), loop, adds("one"), adds("two")]
    exchange = chain(advisors, ScriptedModel("ok"))
    ask(exchange)

    outside, inside = told
    assert outside is None
    assert inside is not None
    seen: list[ChatRequest] = []
    inside.of(QUESTION).subscribe(seen.append)
    assert [tool.name for tool in seen[0].tools] == ["one", "two"]
