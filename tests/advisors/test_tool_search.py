from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable
from reactivex import operators as ops

from rxagent.advisors import DISCOVERED_TOOLS, tool_loop, tool_search
from rxagent.agent import Agent
from rxagent.chain import before, chain
from rxagent.context import Context, Key
from rxagent.decisions import Approve
from rxagent.errors import ConfigurationError, ModelError
from rxagent.events import Finished, ToolFinished, ToolStarted
from rxagent.history import dump_snapshot, load_snapshot
from rxagent.messages import SystemMessage, UserMessage
from rxagent.named import Order, by_order, named
from rxagent.operators import just
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.search import KeywordIndex, RegexIndex, Search, ToolIndex, VectorIndex
from rxagent.testing import (
    Reply,
    ScriptedModel,
    Step,
    assert_advisor_laws,
    tool_call,
)
from rxagent.tools import ToolContext, tool
from rxagent.tools.tool import AnyTool
from rxagent.types import Advisor
from tests.search.test_vector_index import Embedder


def made(name: str, description: str = "", **rules: Any) -> AnyTool:
    @tool(name=name, description=description, **rules)
    def run() -> Observable[str]:
        return just(f"{name} ran")

    return run


WEATHER = made("get_weather", "Tells the weather of a city.")
SHOPS = made("list_clothing_shops", "Lists shops for clothes.")
MAIL = made("send_mail", "Sends an e-mail.")
PAY = made("pay", "Pays a bill.", needs_approval=True)
ALL = [MAIL, PAY, SHOPS, WEATHER]


def searches(*queries: str) -> Reply:
    return Reply(calls=tuple(tool_call("tool_search", query=each) for each in queries))


def calls(*names: str) -> Reply:
    return Reply(calls=tuple(map(tool_call, names)))


def agent_of(
    *steps: Step,
    tools: Iterable[ToolSpec] = ALL,
    left: Iterable[Advisor] = (),
    right: Iterable[Advisor] = (),
    **options: Any,
) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel(*steps)
    advisors = [*left, tool_search(**options), *right]
    return Agent(model, tools=tools, advisors=advisors), model


def offered(model: ScriptedModel) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in model.requests]


def test_the_model_sees_the_search_tool_and_then_what_it_finds() -> None:
    """S000-39, S000-40, S000-42, S000-44, S001-76."""
    agent, model = agent_of(searches("weather"), calls("get_weather"), "It is fine.")

    events = list(agent.stream("How is the weather?"))

    assert offered(model) == [
        ["tool_search"],
        ["tool_search", "get_weather"],
        ["tool_search", "get_weather"],
    ]
    assert model.requests[1].tools[1] is WEATHER
    [*_, end] = events
    assert isinstance(end, Finished)
    assert [*end.response.context] == [DISCOVERED_TOOLS.name]
    ran = [event for event in events if isinstance(event, ToolFinished)]
    assert [event.message.text for event in ran] == [
        "Found, ready to call: get_weather",
        "get_weather ran",
    ]
    assert ran[0].value == ["get_weather"]


Names: TypeAlias = tuple[str, ...]


def _added(old: Names, new: Names) -> Names:
    return old + new


FOUND: Key[Names] = Key("found", tuple, reduce=_added)
LOST: Key[Names] = Key("found", tuple)  # nobody said how two of them add up


def by_hand(slot: Key[Names]) -> tuple[AnyTool, Advisor]:
    """The tool and the choice of what is offered; they meet in ``slot``."""

    @tool
    def find(query: str, context: ToolContext) -> Observable[str]:
        """Find tools."""

        def keep(names: Sequence[str]) -> str:
            context.set(slot, tuple(names))
            return ", ".join(names)

        def ask(search: Search) -> Observable[Sequence[str]]:
            return search(query, 1)

        return KeywordIndex().index(ALL).pipe(ops.flat_map(ask), ops.map(keep))

    def offer(request: ChatRequest) -> ChatRequest:
        names = {"find", *request.context.get(slot, ())}
        shown = tuple(each for each in request.tools if each.name in names)
        return replace(request, tools=shown)

    return find, before(offer)


def finds(*queries: str) -> Reply:
    return Reply(calls=tuple(tool_call("find", query=each) for each in queries))


def test_its_parts_may_be_wired_by_hand() -> None:
    """S000-42: the tool, the choice of what is offered, and the slot between."""
    find, offer = by_hand(FOUND)
    model = ScriptedModel(finds("weather", "mail"), calls("get_weather"), "ok")
    agent = Agent(model, tools=[find, *ALL], advisors=[tool_loop(), offer])
    response = agent.call("hi").run()

    both = ["find", "send_mail", "get_weather"]
    assert offered(model) == [["find"], both, both]
    assert "get_weather ran" in [each.text for each in response.transcript]


def test_a_slot_by_hand_that_loses_a_search_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """S000-42, S000-43: never silently the last one."""
    find, offer = by_hand(LOST)
    model = ScriptedModel(finds("weather", "mail"), "ok")
    Agent(model, tools=[find, *ALL], advisors=[tool_loop(), offer]).call("hi").run()

    assert offered(model)[1] == ["find", "send_mail"]
    assert "give the key a reduce to keep both" in caplog.text


def test_all_of_it_goes_into_one_call_and_search_is_one_more_of_the_list() -> None:
    """S000-103: tools, a choice of them, who may run them, and the search."""
    asked: list[list[str]] = []

    def no_payments(request: ChatRequest) -> ChatRequest:
        tools = tuple(each for each in request.tools if each is not PAY)
        return replace(request, tools=tools)

    def eligible(response: ChatResponse, context: Context) -> bool:
        names = [call.name for call in response.tool_calls]
        asked.append(names)
        return "send_mail" not in names

    advisors = [tool_loop(eligible=eligible), before(no_payments)]
    searching = [*advisors, tool_search()]
    plain = ScriptedModel(calls("get_weather"), calls("send_mail"))
    model = ScriptedModel(
        searches("weather", "bill"), calls("get_weather"), calls("send_mail")
    )
    without = Agent(plain, tools=ALL, advisors=advisors).call("hi").run()
    response = Agent(model, tools=ALL, advisors=searching).call("hi").run()

    assert (
        offered(plain)
        == [
            ["send_mail", "list_clothing_shops", "get_weather"],
        ]
        * 2
    )
    assert offered(model)[1:] == [["tool_search", "get_weather"]] * 2
    assert asked == [
        ["get_weather"],
        ["send_mail"],
        ["tool_search", "tool_search"],
        ["get_weather"],
        ["send_mail"],
    ]
    for each in (without, response):
        assert [call.name for call in each.tool_calls] == ["send_mail"]
        assert "get_weather ran" in [said.text for said in each.transcript]


def test_the_search_tool_says_to_search_once_for_each_ability() -> None:
    """S000-59: without it, half of a question with two parts is lost silently."""
    agent, model = agent_of("ok")
    agent.call("hi").run()

    [search] = model.requests[0].tools
    assert (
        "If the task needs several abilities, search once for each of them, before you "
        "answer." in search.description
    )
    assert KeywordIndex().query in search.description
    assert search.parameters == {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("system", ["Be brief.", None])
def test_each_request_says_at_the_end_of_its_one_system_message_what_to_do(
    system: str | None,
) -> None:
    """V-17."""
    model = ScriptedModel(searches("mail"), "ok")
    agent = Agent(model, system=system, tools=ALL, advisors=[tool_search()])
    response = agent.call("hi").run()

    for request in model.requests:
        first, *others = request.messages
        assert isinstance(first, SystemMessage)
        assert first.text.startswith(system or "You see only some of your tools.")
        assert first.text.count("tool_search") == 1
        assert not any(isinstance(each, SystemMessage) for each in others)
    assert not any(isinstance(each, SystemMessage) for each in response.transcript)


def test_several_searches_of_one_round_add_up_and_so_do_rounds() -> None:
    """S000-41, S001-79."""
    agent, model = agent_of(searches("weather", "clothing"), searches("mail"), "ok")
    agent.call("hi").run()
    assert offered(model)[1:] == [
        ["tool_search", "get_weather", "list_clothing_shops"],
        ["tool_search", "get_weather", "list_clothing_shops", "send_mail"],
    ]


def test_without_accumulating_the_last_round_that_searched_counts() -> None:
    """S001-79, V-17: all searches of it."""
    agent, model = agent_of(
        searches("mail"),
        searches("weather", "clothing"),
        searches("quantum"),
        calls("get_weather"),
        searches("clothing", "mail"),
        "ok",
        accumulate=False,
    )
    agent.call("hi").run()
    assert [names[1:] for names in offered(model)] == [
        [],
        ["send_mail"],
        ["get_weather", "list_clothing_shops"],
        ["get_weather", "list_clothing_shops"],
        ["get_weather", "list_clothing_shops"],
        ["send_mail", "list_clothing_shops"],
    ]


WORDS = st.sampled_from(["weather", "clothing", "mail", "pays", "quantum", "", "a"])


@given(rounds=st.lists(st.lists(WORDS, min_size=1, max_size=3), max_size=5))
def test_what_a_round_offers_begins_with_what_the_last_one_did(
    rounds: list[list[str]],
) -> None:
    """S000-64, acceptance 80: so the prompt cache of a provider stays good."""
    agent, model = agent_of(
        *(searches(*queries) for queries in rounds), "ok", always_include=["pay"]
    )
    agent.call("hi").run()

    seen = offered(model)
    for one, following in pairwise(seen):
        assert following[: len(one)] == one
        assert len(set(following)) == len(following)
    first, last = model.requests[0], model.requests[-1]
    assert last.messages[: len(first.messages)] == first.messages


def test_what_is_always_included_is_there_from_the_first_round() -> None:
    """S000-57: behind the search tool, in the order that was given."""
    agent, model = agent_of(
        searches("mail"), "ok", always_include=["pay", "no_such", "get_weather"]
    )
    agent.call("hi").run()
    assert offered(model) == [
        ["tool_search", "pay", "get_weather"],
        ["tool_search", "pay", "get_weather", "send_mail"],
    ]


@pytest.mark.parametrize("tools", [[], [WEATHER]])
def test_where_nothing_is_hidden_nothing_changes(tools: list[AnyTool]) -> None:
    """M-58."""
    agent, model = agent_of("ok", tools=tools, always_include=["get_weather"])
    agent.call("hi").run()
    [request] = model.requests
    assert request.tools == tuple(tools)
    assert request.messages == (UserMessage.of("hi"),)


def test_the_limit_holds_for_each_search() -> None:
    """S000-58, S000-54."""
    tools = [made(f"mail_{n}") for n in range(9)] + [WEATHER]
    agent, model = agent_of(searches("mail"), "ok", tools=tools)
    agent.call("hi").run()
    assert len(offered(model)[1]) == 1 + 5
    agent, model = agent_of(searches("mail"), "ok", tools=tools, limit=3)
    agent.call("hi").run()
    assert len(offered(model)[1]) == 1 + 3


@pytest.mark.parametrize("query", ["quantum", "", "  "])
def test_no_hit_is_a_text_and_leaves_nothing(query: str) -> None:
    """M-58, V-18: a blank query finds nothing, and not everything."""
    agent, model = agent_of(searches(query), "ok")
    response = agent.call("hi").run()
    assert offered(model) == [["tool_search"], ["tool_search"]]
    assert "No tool fits" in model.requests[1].messages[-1].text
    assert DISCOVERED_TOOLS not in response.context


def test_a_tool_that_was_not_offered_does_not_run_and_is_answered_with_how_to() -> None:
    agent, model = agent_of(calls("send_mail", "nonsense"), "ok")
    events = list(agent.stream("hi"))
    assert not any(isinstance(event, ToolStarted) for event in events)
    *_, withheld, unknown = (each.text for each in model.requests[1].messages)
    assert withheld == (
        "'send_mail' was not offered to you, so it did not run; find it with "
        "tool_search, then call it"
    )
    assert unknown == "there is no tool 'nonsense'; the tools are: tool_search"


def test_nobody_is_asked_to_approve_a_call_that_cannot_run() -> None:
    agent, model = agent_of(calls("pay"), "ok")
    assert agent.call("hi").run().finish_reason == "stop"
    assert "find it with tool_search" in model.requests[1].messages[-1].text


def test_a_failing_search_is_told_and_the_turn_goes_on() -> None:
    """Acceptance 80: without new tools."""

    class Broken:
        query = "words"

        def index(self, tools: Sequence[ToolSpec], /) -> Observable[Search]:
            raise ModelError("the embedder is down")

    agent, model = agent_of(searches("mail"), "ok", index=Broken())
    response = agent.call("hi").run()
    assert response.text == "ok"
    assert offered(model)[1] == ["tool_search"]
    assert "the embedder is down" in model.requests[1].messages[-1].text


class Listed:
    """An index of somebody else's, which finds what it is told."""

    query = "whatever"

    def __init__(self, *names: str) -> None:
        self.names = names
        self.indexed: list[list[str]] = []

    def index(self, tools: Sequence[ToolSpec], /) -> Observable[Search]:
        self.indexed.append([tool.name for tool in tools])
        return just(lambda query, limit: just(self.names))


def test_an_index_of_your_own_will_do_whatever_it_finds() -> None:
    """S000-49, V-17: unknown names are ignored, and the limit holds."""
    index: ToolIndex = Listed("no_such", "send_mail", "get_weather", "pay")
    agent, model = agent_of(searches("x"), "ok", index=index, limit=2)
    agent.call("hi").run()
    assert offered(model)[1] == ["tool_search", "send_mail", "get_weather"]


@pytest.mark.parametrize(
    ("index", "query"),
    [
        (KeywordIndex(), "weather"),
        (RegexIndex(), "^get_"),
        (VectorIndex(Embedder()), "Will it rain?"),
    ],
)
def test_there_are_three_indexes(index: ToolIndex, query: str) -> None:
    """S001-80."""
    agent, model = agent_of(searches(query), "ok", index=index, limit=1)
    agent.call("hi").run()
    assert offered(model)[1] == ["tool_search", "get_weather"]
    assert index.query in model.requests[0].tools[0].description


def test_the_index_is_made_when_it_is_searched_and_once_for_a_list() -> None:
    """S000-45, S000-46, acceptance 79."""
    index = Listed("pay")
    model = ScriptedModel(
        "ok", searches("a", "b"), searches("c"), "ok", searches("d"), "ok"
    )
    agent = Agent(model, tools=ALL, advisors=[tool_search(index=index)])
    agent.call("nothing to search for").run()
    assert index.indexed == []
    agent.call("hi").run()
    assert index.indexed == [sorted(tool.name for tool in ALL)]
    agent.call("one more tool", tools=[made("z")]).run()
    assert len(index.indexed) == 2


def test_a_tool_that_an_advisor_brings_later_is_found_once_it_is_there() -> None:
    """S000-45."""
    late = made("fly_to_moon")

    def arrives(request: ChatRequest) -> ChatRequest:
        there = (late,) if request.origin.round else ()
        return ChatRequest(
            messages=request.messages,
            tools=(*request.tools, *there),
            context=request.context,
            origin=request.origin,
        )

    agent, model = agent_of(
        searches("moon"),
        searches("moon"),
        calls("fly_to_moon"),
        "ok",
        left=[tool_loop(), before(arrives)],
    )
    agent.call("hi").run()
    assert [names[1:] for names in offered(model)] == [
        [],
        [],
        ["fly_to_moon"],
        ["fly_to_moon"],
    ]
    assert model.requests[3].messages[-1].text == "fly_to_moon ran"


def test_a_turn_goes_on_from_the_context_of_another_or_starts_from_zero() -> None:
    """S000-48."""
    agent, model = agent_of(searches("mail"), "ok", searches("pays"), "ok", "ok")
    first = agent.call("hi").run()
    agent.call("more", context=dict(first.context)).run()
    agent.call("anew").run()
    assert offered(model)[2:] == [
        ["tool_search", "send_mail"],
        ["tool_search", "send_mail", "pay"],
        ["tool_search"],
    ]


def test_what_was_found_survives_a_pause_and_a_save() -> None:
    """S000-47."""
    agent, model = agent_of(
        searches("weather"), searches("pays"), calls("pay"), "paid", tools=ALL
    )
    paused = agent.call("hi").run()
    assert paused.finish_reason == "paused"
    assert paused.snapshot is not None

    saved = load_snapshot(dump_snapshot(paused.snapshot))
    decisions = {call_id: Approve() for call_id in saved.pending}
    list(agent.resume(saved, decisions))

    assert offered(model)[2:] == [["tool_search", "get_weather", "pay"]] * 2
    first, *others = model.requests[3].messages
    assert first.text.count("tool_search") == 1
    assert not any(isinstance(each, SystemMessage) for each in others)
    assert model.requests[3].messages[-1].text == "pay ran"


def test_a_search_that_waited_with_a_call_runs_after_the_pause() -> None:
    """S000-46, S000-47: the loop knows the search tool without asking the model."""
    both = Reply(calls=(tool_call("tool_search", query="mail"), tool_call("pay")))
    agent, model = agent_of(both, "ok", always_include=["pay"])
    paused = agent.call("hi").run()
    assert paused.snapshot is not None

    decisions = {call_id: Approve() for call_id in paused.snapshot.pending}
    list(agent.resume(paused.snapshot, decisions))

    assert offered(model)[1] == ["tool_search", "pay", "send_mail"]
    *_, searched, paid = (each.text for each in model.requests[1].messages)
    assert searched == "Found, ready to call: send_mail"
    assert paid == "pay ran"


def test_a_tool_that_is_demanded_is_offered_for_that_request() -> None:
    agent, model = agent_of(calls("send_mail"), "ok")
    agent.call("hi", options=ChatOptions(tool_choice="send_mail")).run()
    assert offered(model) == [["tool_search", "send_mail"], ["tool_search"]]
    assert model.requests[1].messages[-1].text == "send_mail ran"


def test_an_agent_without_a_loop_gets_one_left_of_the_search_and_no_second() -> None:
    """S001-75: also if no tools are known yet."""
    for tools in ([], ALL):
        agent, _ = agent_of("ok", tools=tools)
        lines = agent.describe().splitlines()
        assert [line.strip() for line in lines if "tool_" in line] == [
            "tool_loop(max_rounds=10)",
            "each round: tool_search(KeywordIndex, limit=5)",
        ]
    agent, _ = agent_of("ok", left=[tool_loop(max_rounds=3)])
    assert agent.describe().count("tool_loop") == 1


def test_half_an_installation_is_refused_where_it_is_built() -> None:
    """S000-43."""
    model = ScriptedModel()
    with pytest.raises(ConfigurationError, match=r"right of tool_loop\(\)"):
        Agent(model, tools=ALL, advisors=[tool_search(), tool_loop()])
    with pytest.raises(ConfigurationError, match=r"right of tool_loop\(\)"):
        chain([tool_search()], model)
    agent = Agent(model, tools=ALL, advisors=[tool_loop()])
    with pytest.raises(ConfigurationError, match=r"right of tool_loop\(\)"):
        agent.call("hi", advisors=[tool_search()])


def test_it_may_come_with_the_call_and_the_turn_can_be_resumed() -> None:
    model = ScriptedModel(searches("pays"), calls("pay"), "paid")
    agent = Agent(model)
    extra: dict[str, Any] = {"tools": ALL, "advisors": [tool_search()]}
    paused = agent.call("hi", **extra).run()
    assert paused.snapshot is not None
    decisions = {call_id: Approve() for call_id in paused.snapshot.pending}
    list(agent.resume(paused.snapshot, decisions, **extra))
    assert offered(model)[-1] == ["tool_search", "pay"]


def test_by_order_puts_it_behind_the_loop_and_what_brings_tools() -> None:
    brings = named("brings", before(lambda request: request), order=Order.IN_LOOP)
    search, loop = tool_search(), tool_loop()
    assert by_order([search, brings, loop]) == [loop, brings, search]


def test_another_tool_of_that_name_is_refused() -> None:
    agent, _ = agent_of("ok", tools=[*ALL, made("tool_search")])
    with pytest.raises(ConfigurationError, match="rename that one"):
        agent.call("hi").run()
    agent, _ = agent_of("ok", right=[tool_search()])
    with pytest.raises(ConfigurationError, match="rename that one"):
        agent.call("hi").run()


@pytest.mark.parametrize(
    "options",
    [
        {"limit": 0},
        {"always_include": "pay"},
        {"always_include": None},
        {"always_include": [1]},
        {"index": KeywordIndex},
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        tool_search(**options)


def test_it_holds_the_laws_with_tools_too() -> None:
    request = ChatRequest(messages=(UserMessage.of("hello"),), tools=tuple(ALL))
    assert_advisor_laws(tool_search(), request=request)


def test_turns_of_one_agent_do_not_mix() -> None:
    """Law 7."""

    def step(request: ChatRequest) -> Step:
        word = request.messages[1].text
        if request.origin.round == 0:
            return searches(word)
        return ",".join(tool.name for tool in request.tools)

    model = ScriptedModel(step, repeat_last=True)
    agent = Agent(model, tools=ALL, advisors=[tool_search()])
    flows = {word: agent.call(word) for word in ("mail", "weather")}
    for word, name in (("mail", "send_mail"), ("weather", "get_weather")) * 3:
        assert flows[word].run().text == f"tool_search,{name}"


def test_what_an_index_finds_twice_counts_once() -> None:
    agent, model = agent_of(
        searches("a"), "ok", index=Listed("pay", "pay", "lost", "send_mail"), limit=2
    )
    agent.call("hi").run()
    assert offered(model)[1] == ["tool_search", "pay", "send_mail"]
    assert model.requests[1].messages[-1].text == "Found, ready to call: pay, send_mail"


def test_an_index_that_says_nothing_has_found_nothing() -> None:
    class Silent:
        query = "anything"

        def index(self, tools: Sequence[ToolSpec], /) -> Observable[Search]:
            return just(lambda query, limit: reactivex.empty())

    agent, model = agent_of(searches("a"), "ok", index=Silent())
    agent.call("hi").run()
    assert model.requests[1].messages[-1].text.startswith("No tool fits 'a'.")


def test_a_long_query_is_not_sent_to_the_model_once_more() -> None:
    agent, model = agent_of(searches("x" * 100_000), "ok")
    agent.call("hi").run()
    assert len(model.requests[1].messages[-1].text) < 200
