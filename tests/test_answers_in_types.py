from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import assert_type

import pytest
from pydantic import BaseModel
from reactivex import operators as ops
from reactivex.testing import TestScheduler

from rxagent.advisors import resuming, safeguard, tool_loop, validate
from rxagent.agent import Agent
from rxagent.chain import before
from rxagent.decisions import Approve
from rxagent.entities import Partial, entity, fields
from rxagent.errors import (
    ConfigurationError,
    GuardError,
    InvalidAnswerError,
    NoAnswerError,
    RequestError,
)
from rxagent.events import Finished
from rxagent.messages import SystemMessage, ToolCall
from rxagent.named import named
from rxagent.output import output_type
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import tool
from rxagent.types import Advisor, AnswerMode
from rxagent.usage import Usage
from rxagent.wire.json_reader import JsonValue


class Film(BaseModel):
    title: str
    year: int


ALIEN = Film(title="Alien", year=1979)
GOOD = ALIEN.model_dump_json()
BAD = '{"title": "Alien"}'


class NativeModel(ScriptedModel):
    def answer_mode(self, request: ChatRequest) -> AnswerMode:
        return "native"


class ToolModel(ScriptedModel):
    def answer_mode(self, request: ChatRequest) -> AnswerMode:
        return "tool"


@tool
def year_of(title: str) -> int:
    """Look a year up."""
    return 1979


def test_an_entity_is_asked_for_in_words_of_a_model_that_says_nothing() -> None:
    """S001-57."""
    model = ScriptedModel(GOOD)
    assert Agent(model, system="Be brief.").entity(Film, "a film").run() == ALIEN
    (request,) = model.requests
    told = request.messages[0]
    assert isinstance(told, SystemMessage)
    assert told.text.startswith("Be brief.\n\n")
    assert json.dumps(Film.model_json_schema()["required"]).replace(" ", "") in (
        told.text
    )
    assert request.options.response_schema is None


def test_words_need_no_system_text_before_them() -> None:
    model = ScriptedModel(GOOD)
    Agent(model).entity(Film, "a film").run()
    assert [m.role for m in model.requests[0].messages] == ["system", "user"]


def test_a_schema_goes_to_a_model_that_takes_one() -> None:
    """S001-50."""
    model = NativeModel(GOOD)
    assert Agent(model).entity(Film, "a film").run() == ALIEN
    (request,) = model.requests
    assert [m.role for m in request.messages] == ["user"]
    assert request.options.response_schema is not None
    assert request.options.response_schema["required"] == ["title", "year"]


def test_a_list_goes_within_an_object_and_comes_out_of_it() -> None:
    model = NativeModel(f'{{"value": [{GOOD}]}}')
    assert Agent(model).entity(list[Film], "films").run() == [ALIEN]
    schema = model.requests[0].options.response_schema
    assert schema is not None
    assert schema["type"] == "object"


def call(**arguments: object) -> ToolCall:
    return tool_call("give_answer", **arguments)


def test_a_tool_takes_the_answer() -> None:
    model = ToolModel(Reply(calls=(call(title="Alien", year=1979),)))
    agent = Agent(model)
    assert agent.entity(Film, "a film").run() == ALIEN
    (request,) = model.requests
    assert [spec.name for spec in request.tools] == ["give_answer"]
    assert request.options.tool_choice == "give_answer"


def test_the_answer_of_a_tool_streams_as_text() -> None:
    reply = Reply(calls=(call(title="Alien", year=1979),))
    model = ToolModel(reply, repeat_last=True)
    flow = Agent(model).asking(Film, "a film", live=True)
    events = list(flow)
    assert json.loads("".join(flow.text())) == {"title": "Alien", "year": 1979}
    (end,) = [event for event in events if isinstance(event, Finished)]
    assert end.response.finish_reason == "stop"
    assert end.response.tool_calls == ()
    assert end.response.transcript == (end.response.message,)


@pytest.mark.parametrize("mode", ["native", "tool", "prompt"])
def test_tools_run_before_the_answer_in_every_mode(mode: AnswerMode) -> None:
    looked = Reply(calls=(tool_call("year_of", title="Alien"),))
    given = Reply(calls=(call(title="Alien", year=1979),))
    model = ScriptedModel(looked, given if mode == "tool" else GOOD)
    agent = Agent(model, tools=[year_of])
    assert agent.entity(Film, "a film", mode=mode).run() == ALIEN
    assert len(model.requests) == 2
    roles = [m.role for m in model.requests[1].messages if m.role != "system"]
    assert roles == ["user", "assistant", "tool"]


def test_a_tool_of_that_name_is_refused() -> None:
    @tool
    def give_answer() -> str:
        """Give."""
        return ""

    agent = Agent(ToolModel(GOOD), tools=[give_answer])
    with pytest.raises(RequestError, match="give_answer"):
        agent.entity(Film, "a film").run()


def test_a_bad_answer_is_asked_for_again() -> None:
    """S001-54, S003-22: validation comes with the call, no advisor is needed."""
    model = ScriptedModel(BAD, GOOD)
    assert Agent(model).entity(Film, "a film").run() == ALIEN
    assert len(model.requests) == 2


def test_exhausted_attempts_are_an_error_with_their_usage() -> None:
    """Acceptance 67 of Spring AI."""
    usage = Usage(input_tokens=1, output_tokens=1, requests=1)
    model = ScriptedModel(Reply(deltas=(BAD,), usage=usage), repeat_last=True)
    with pytest.raises(InvalidAnswerError) as caught:
        Agent(model).entity(Film, "a film", max_retries=1).run()
    assert caught.value.attempts == 2
    assert caught.value.texts == (BAD, BAD)
    assert caught.value.usage == usage + usage


def test_an_advisor_of_ones_own_stands_in_the_place_of_the_check() -> None:
    """S001-55, D-3."""
    model = ScriptedModel(BAD, repeat_last=True)
    agent = Agent(model, advisors=[validate(Film, max_retries=0)])
    with pytest.raises(InvalidAnswerError):
        agent.entity(Film, "a film").run()
    assert len(model.requests) == 1


def test_a_cut_answer_is_no_bad_answer() -> None:
    model = ScriptedModel(Reply(deltas=("{",), finish_reason="length"))
    with pytest.raises(NoAnswerError) as caught:
        Agent(model).entity(Film, "a film").run()
    assert caught.value.finish_reason == "length"


def test_partials_grow_begin_anew_and_end_in_an_entity() -> None:
    model = ScriptedModel(
        Reply(deltas=('{"title": "Br', '"}')),
        Reply(deltas=('{"title": "Al', 'ien", "year": 19', "79}")),
    )
    found = list(Agent(model).partials(Film, "a film"))
    assert [each.value for each in found] == [
        {"title": "Br"},
        {"title": "Al"},
        {"title": "Alien"},
        {"title": "Alien", "year": 1979},
        {"title": "Alien", "year": 1979},
    ]
    assert found[-1] == Partial(value=ALIEN.model_dump(), entity=ALIEN)
    assert all(each.entity is None for each in found[:-1])


def test_elements_come_while_the_rest_streams() -> None:
    scheduler = TestScheduler()
    reply = Reply(deltas=(f"[{GOOD},", GOOD, "]"), gap_s=10)
    seen: list[tuple[float, Film]] = []
    flow = Agent(ScriptedModel(reply)).elements(Film, "films")
    flow.subscribe(
        lambda film: seen.append((scheduler.clock, film)), scheduler=scheduler
    )
    scheduler.start()
    (first, one), (second, other) = seen
    assert (one, other) == (ALIEN, ALIEN)
    assert second - first == 10


def test_fields_are_read_of_a_stream_that_asks_for_a_type() -> None:
    flow = Agent(ScriptedModel(GOOD)).asking(Film, "a film").pipe(fields())
    assert list(flow) == [
        JsonValue(path=("title",), value="Alien"),
        JsonValue(path=("year",), value=1979),
    ]


def test_what_is_told_leaves_no_trace_outside() -> None:
    seen: list[ChatRequest] = []

    def note(request: ChatRequest) -> ChatRequest:
        seen.append(request)
        return request

    Agent(ScriptedModel(GOOD), advisors=[before(note)]).entity(Film, "a film").run()
    assert [m.role for m in seen[0].messages] == ["user"]


def test_a_call_adds_context_tools_options_and_advisors() -> None:
    model = ScriptedModel(GOOD)
    agent = Agent(model)
    agent.asking(Film, "a film", context={"tenant": "a"}, tools=[year_of]).run()
    (request,) = model.requests
    assert request.context["tenant"] == "a"
    assert [spec.name for spec in request.tools] == ["year_of"]


def test_a_mode_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="mode"):
        Agent(ScriptedModel(GOOD)).entity(Film, "a film", mode="telepathy")  # type: ignore[call-overload]


def test_a_judge_of_ones_own_stands_beside_the_check() -> None:
    """S001-55: only a check of the type stands in its place."""
    judged: list[str] = []

    def judge(response: ChatResponse) -> bool:
        judged.append(response.text)
        return True

    agent = Agent(ScriptedModel(BAD, GOOD), advisors=[validate(check=judge)])
    assert agent.entity(Film, "a film").run() == ALIEN
    assert judged == [GOOD]


def test_what_is_outside_of_the_loop_runs_once_for_all_attempts() -> None:
    """Q7, S001-55: a retry retrieves nothing again."""
    seen: list[str] = []

    def noting(name: str) -> Advisor:
        def note(request: ChatRequest) -> ChatRequest:
            seen.append(name)
            return request

        return before(note)

    advisors = [noting("retrieval"), tool_loop(), noting("round")]
    agent = Agent(ScriptedModel(BAD, GOOD), tools=[year_of], advisors=advisors)
    agent.entity(Film, "a film").run()
    assert seen == ["retrieval", "round", "round"]


def test_a_stream_ends_in_an_entity_as_a_call_does() -> None:
    """S001-57, V-3, acceptance 69 of Spring AI."""
    model = ScriptedModel(BAD, GOOD, BAD, GOOD)
    agent = Agent(model)
    entity = agent.entity(Film, "a film").run()
    *_, last = agent.partials(Film, "a film")
    assert last.entity == entity == ALIEN
    first, *_ = model.requests
    assert all(request.messages[0] == first.messages[0] for request in model.requests)


@tool(needs_approval=True)
def pay() -> str:
    """Pay."""
    return "paid"


def _no_loop() -> Advisor:
    """Runs no tools, though it says so."""
    return named("nobody", before(lambda request: request), owns_tools=True)


Way = Callable[[Agent], object]
WAYS: dict[str, Way] = {
    "entity": lambda agent: agent.entity(Film, "a film").run(),
    "partials": lambda agent: list(agent.partials(Film, "a film")),
    "elements": lambda agent: list(agent.elements(Film, "films")),
}
by_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@by_way
@pytest.mark.parametrize(
    ("reply", "advisors", "reason"),
    [
        (Reply(deltas=("{",), finish_reason="length"), (), "length"),
        (Reply(deltas=("No.",), finish_reason="refusal"), (), "refusal"),
        (Reply(finish_reason="content_filter"), (), "content_filter"),
        (Reply(finish_reason="pause"), (), "pause"),
        (Reply(), (safeguard(["film"]),), "blocked"),
        (
            Reply(calls=(tool_call("year_of", title="a"),) * 2),
            (tool_loop(max_calls=1),),
            "tool_limit",
        ),
        (Reply(calls=(tool_call("pay"),)), (tool_loop(),), "paused"),
        (Reply(calls=(tool_call("pay"),)), (_no_loop(),), "tool_calls"),
    ],
)
def test_a_turn_without_an_answer_has_an_error_of_its_own(
    way: Way, reply: Reply, advisors: tuple[Advisor, ...], reason: str
) -> None:
    """Never that of an answer that does not fit; with its usage."""
    usage = Usage(output_tokens=7, requests=1)
    model = ScriptedModel(replace(reply, usage=usage))
    agent = Agent(model, tools=[pay, year_of], advisors=advisors)
    with pytest.raises(NoAnswerError) as caught:
        way(agent)
    assert caught.value.finish_reason == reason
    assert caught.value.usage is not None
    assert caught.value.usage.output_tokens == (None if reason == "blocked" else 7)
    assert len(model.requests) == (0 if reason == "blocked" else 1)


@by_way
def test_an_error_of_the_model_stays_what_it_is(way: Way) -> None:
    model = ScriptedModel(Reply(deltas=("{",), error=GuardError("g", "stopped")))
    with pytest.raises(GuardError):
        way(Agent(model))


def test_a_paused_turn_goes_on_to_its_entity() -> None:
    """As a prompt: the model is told the type again."""
    model = ScriptedModel(Reply(calls=(tool_call("pay"),)), BAD, GOOD)
    agent = Agent(model, tools=[pay])
    with pytest.raises(NoAnswerError) as caught:
        agent.entity(Film, "a film").run()
    assert isinstance(caught.value.response, ChatResponse)
    snapshot = caught.value.response.snapshot
    assert snapshot is not None
    prompt = resuming(snapshot, {snapshot.pending[0]: Approve()})
    assert agent.entity(Film, prompt).run() == ALIEN
    told = [request.messages[0] for request in model.requests]
    assert told[0] == told[1] == told[2]
    assert told[0].role == "system"
    roles = [message.role for message in model.requests[2].messages[1:]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


def test_what_a_turn_with_tools_says_comes_back_from_another_process() -> None:
    """M-27: its tools stay, for pickle takes no function that is another's name."""
    model = ScriptedModel(Reply(calls=(tool_call("pay"),)))
    with pytest.raises(NoAnswerError) as caught:
        Agent(model, tools=[pay]).entity(Film, "a film").run()
    back = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(back, NoAnswerError)
    assert back.response == caught.value.response


def test_a_type_checker_knows_what_an_answer_is() -> None:
    agent = Agent(ScriptedModel(GOOD, repeat_last=True))
    assert_type(agent.entity(Film, "a film"), Flow[Film])
    assert_type(agent.entity(list[Film], "films"), Flow[list[Film]])
    assert_type(agent.entity(output_type(list[Film]), "films"), Flow[list[Film]])
    assert_type(agent.partials(Film, "a film"), Flow[Partial[Film]])
    assert_type(agent.partials(list[Film], "films"), Flow[Partial[list[Film]]])
    assert_type(agent.elements(Film, "films"), Flow[Film])
    assert_type(agent.stream("a film").pipe(entity(Film)), Flow[Film])
    assert_type(agent.entity(Film, "a film").run(), Film)


def test_only_an_agent_that_runs_tools_goes_on_with_a_paused_turn() -> None:
    model = ScriptedModel(Reply(calls=(tool_call("pay"),)))
    snapshot = Agent(model, tools=[pay]).call("go").run().snapshot
    assert snapshot is not None
    for way in (Agent(model).stream, Agent(model).call):
        with pytest.raises(ConfigurationError, match="runs no tools"):
            way(resuming(snapshot))
    with pytest.raises(ConfigurationError, match="runs no tools"):
        Agent(model).entity(Film, resuming(snapshot))


def test_a_type_that_is_prepared_once_serves_every_call() -> None:
    film = output_type(Film)
    agent = Agent(ScriptedModel(GOOD, GOOD, f"[{GOOD}]"), advisors=[validate(film)])
    assert agent.entity(film, "a film").run() == ALIEN
    assert list(agent.partials(film, "a film"))[-1].entity == ALIEN
    plain = Agent(ScriptedModel(f"[{GOOD}]"))
    assert list(plain.elements(film, "films")) == [ALIEN]


def test_a_parser_of_ones_own_reads_the_answer() -> None:
    """S003-21."""
    film = output_type(Film, parse=lambda text: json.loads(text[::-1]))
    agent = Agent(ScriptedModel(GOOD[::-1]))
    assert agent.entity(film, "a film").run() == ALIEN


def test_fewer_partials_come_by_rxpy_itself_and_the_last_is_among_them() -> None:
    scheduler = TestScheduler()
    reply = Reply(deltas=tuple(GOOD), gap_s=1)
    flow = Agent(ScriptedModel(reply)).partials(Film, "a film")
    seen: list[Partial[Film]] = []
    flow.pipe(ops.sample(10.0)).subscribe(seen.append, scheduler=scheduler)
    scheduler.advance_to(1000)
    assert len(seen) <= len(GOOD) / 10 + 1
    assert seen[-1].entity == ALIEN
