"""The tokens of a turn are told on every way out of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, cast

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import TestScheduler

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.chain import after
from rxagent.context import Key
from rxagent.decisions import Approve
from rxagent.errors import (
    AdvisorError,
    GuardError,
    LimitError,
    ModelError,
    RateLimitError,
    RxAgentError,
    SnapshotError,
    ToolError,
    ToolFailedError,
)
from rxagent.events import ChatEvent, Finished, ToolFinished
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import ToolContext, tool
from rxagent.types import Exchange
from rxagent.usage import Usage


def tokens(number: int) -> Usage:
    return Usage(output_tokens=number, requests=1)


def calls(name: str, cost: int, **arguments: object) -> Reply:
    return Reply(calls=(tool_call(name, **arguments),), usage=tokens(cost))


@tool
def look() -> Observable[str]:
    """Look."""
    return just("seen")


LOOK = calls("look", 10)


def failed(agent: Agent) -> RxAgentError:
    with pytest.raises(RxAgentError) as caught:
        agent.call("go").run()
    return caught.value


def test_a_model_that_fails_in_a_later_round_says_what_the_whole_turn_has_cost() -> (
    None
):
    """S001-69 on the way out that is an error."""
    broken = RateLimitError("slow down", usage=tokens(3), retry_after_s=7)
    agent = Agent(ScriptedModel(LOOK, LOOK, broken), tools=[look])

    error = failed(agent)

    assert isinstance(error, RateLimitError)
    assert error.usage == Usage(output_tokens=23, reported_total_tokens=23, requests=3)
    assert (error.retry_after_s, str(error)) == (7, "slow down")
    assert pickle.loads(pickle.dumps(error)).usage == error.usage


def test_an_error_that_is_raised_again_and_again_does_not_add_up() -> None:
    """Law 2: the model's error is left as it was."""
    broken = ModelError("no", usage=tokens(1))
    cause = OSError("socket")
    broken.__cause__ = cause
    seen: list[Usage | None] = []
    for _ in range(2):
        error = failed(Agent(ScriptedModel(LOOK, broken), tools=[look]))
        seen.append(error.usage)
        assert error.__cause__ is cause

    assert [each.output_tokens for each in seen if each] == [11, 11]
    assert broken.usage == tokens(1)


def test_an_error_before_anything_was_spent_is_the_error_itself() -> None:
    broken = ModelError("no")

    assert failed(Agent(ScriptedModel(broken), tools=[look])) is broken
    assert broken.usage is None


def test_an_error_that_is_not_ours_passes_as_it_is() -> None:
    broken = OSError("down")
    agent = Agent(ScriptedModel(LOOK, broken), tools=[look])

    with pytest.raises(OSError, match="down") as caught:
        agent.call("go").run()
    assert caught.value is broken


def test_a_limit_that_raises_says_it_once() -> None:
    loop = tool_loop(max_rounds=2, on_limit="raise")
    agent = Agent(ScriptedModel(LOOK, repeat_last=True), tools=[look], advisors=[loop])

    error = failed(agent)

    assert isinstance(error, LimitError)
    assert (error.name, error.value) == ("max_rounds", 2)
    assert error.usage is not None
    assert error.usage.output_tokens == 20


def in_the_loop(error: RxAgentError) -> Agent:
    """An advisor of the second round fails."""

    def guard(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
        def fail(event: ChatEvent) -> ChatEvent:
            if isinstance(event, Finished) and not event.response.tool_calls:
                raise error
            return event

        return source.pipe(ops.map(fail))

    return Agent(
        ScriptedModel(LOOK, Reply(deltas=("bad",), usage=tokens(5))),
        tools=[look],
        advisors=[tool_loop(), after(guard)],
    )


def unsaved() -> Agent:
    """State that cannot be saved, when the turn has to pause."""
    key = Key("stuff", object)

    @tool
    def fill(me: ToolContext) -> Observable[str]:
        """Fill."""
        me.set(key, {1})
        return just("filled")

    @tool(needs_approval=True)
    def pay() -> Observable[str]:
        """Pay."""
        return just("paid")

    model = ScriptedModel(calls("fill", 10), calls("pay", 20))
    return Agent(model, tools=[fill, pay])


def asked_wrongly() -> Agent:
    approve = cast("Any", lambda _: just(True))
    loop = tool_loop(approve=approve, needs_approval=True)
    return Agent(ScriptedModel(LOOK), tools=[look], advisors=[loop])


def exiting() -> Agent:
    @tool
    def leave() -> Observable[str]:
        """Exit."""
        raise SystemExit(1)

    return Agent(ScriptedModel(LOOK, calls("leave", 1)), tools=[look, leave])


@pytest.mark.parametrize(
    ("make", "kind", "spent"),
    [
        (lambda: in_the_loop(GuardError("g", "no", usage=tokens(5))), GuardError, 15),
        (lambda: in_the_loop(GuardError("g", "no")), GuardError, 10),
        (lambda: in_the_loop(AdvisorError("a", "broke")), AdvisorError, 10),
        (unsaved, SnapshotError, 30),
        (asked_wrongly, AdvisorError, 10),
        (exiting, ToolError, 11),
    ],
)
def test_every_error_of_ours_says_what_the_turn_has_cost(
    make: Callable[[], Agent], kind: type[RxAgentError], spent: int
) -> None:
    error = failed(make())

    assert isinstance(error, kind)
    assert error.usage is not None
    assert error.usage.output_tokens == spent


def test_an_error_after_a_resume_counts_what_was_spent_before_the_pause() -> None:
    @tool(needs_approval=True)
    def pay() -> Observable[str]:
        """Pay."""
        return just("paid")

    agent = Agent(
        ScriptedModel(LOOK, calls("pay", 5), ModelError("no")), tools=[look, pay]
    )
    snapshot = agent.call("go").run().snapshot
    assert snapshot is not None

    with pytest.raises(ModelError) as caught:
        agent.resume(snapshot, dict.fromkeys(snapshot.pending, Approve())).run()
    assert caught.value.usage is not None
    assert caught.value.usage.output_tokens == 15


# An agent that is a tool


def outer(inner: Exchange, *, retries: int = 0, **options: Any) -> Agent:
    """An agent that asks ``inner`` once, for 1 token, and answers for 1 more."""
    assert isinstance(inner, Agent)
    expert = inner.as_tool("expert", "Knows.", retries=retries, retry_delay_s=0.001)
    model = ScriptedModel(
        calls("expert", 1, prompt="?"), Reply(deltas=("ok",), usage=tokens(1))
    )
    return Agent(model, tools=[expert], advisors=[tool_loop(**options)])


def breaking(*steps: Any, **options: Any) -> Agent:
    return Agent(ScriptedModel(*steps), tools=[look], advisors=[tool_loop(**options)])


@tool(needs_approval=True)
def gated() -> Observable[str]:
    """Do what must be approved."""
    return just("done")


@pytest.mark.parametrize(
    ("inner", "spent"),
    [
        (lambda: breaking(LOOK, ModelError("no", usage=tokens(4))), 14),
        (lambda: breaking(LOOK, ModelError("no")), 10),
        (lambda: breaking(ModelError("no", usage=tokens(4))), 4),
        (lambda: breaking(LOOK, LOOK, max_rounds=1, on_limit="raise"), 10),
        (lambda: breaking(LOOK, LOOK, max_rounds=1), 10),
        (lambda: breaking(LOOK, OSError("down")), 10),
        (
            lambda: Agent(ScriptedModel(LOOK, calls("gated", 7)), tools=[look, gated]),
            17,
        ),
        (lambda: breaking(LOOK, Reply(deltas=("yes",), usage=tokens(2))), 12),
    ],
    ids=[
        "a model that fails and says what it counted",
        "a model that fails",
        "a model that fails at once",
        "a limit that raises",
        "a limit",
        "an error that is not ours",
        "a pause",
        "an answer",
    ],
)
def test_what_an_inner_agent_has_cost_counts_whatever_it_came_to(
    inner: Callable[[], Agent], spent: int
) -> None:
    """S001-69 for agents as tools: limits on tokens see it too."""
    events = list(outer(inner()).stream("go"))

    done = next(each for each in events if isinstance(each, ToolFinished))
    assert done.usage is not None
    assert done.usage.output_tokens == spent
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.response.usage.output_tokens == spent + 2


def test_all_attempts_of_an_inner_agent_count() -> None:
    busy = RateLimitError("busy", usage=tokens(4))
    inner = breaking(LOOK, busy, LOOK, busy, Reply(deltas=("y",), usage=tokens(2)))

    response = outer(inner, retries=2).call("go").run()

    assert response.text == "ok"
    assert response.usage.output_tokens == 2 + 14 + 14 + 2


def test_an_inner_agent_that_takes_too_long_has_cost_what_it_reported() -> None:
    """Virtual time: its second answer never comes."""
    never = Reply(deltas=("late",), first_s=1_000)
    inner = Agent(ScriptedModel(LOOK, never), tools=[look])
    expert = inner.as_tool("expert", "Knows.", timeout_s=50)
    model = ScriptedModel(
        calls("expert", 1, prompt="?"), Reply(deltas=("ok",), usage=tokens(1))
    )
    responses: list[ChatResponse] = []
    scheduler = TestScheduler()
    Agent(model, tools=[expert]).call("go").subscribe(
        responses.append, scheduler=scheduler
    )
    scheduler.start()

    assert [each.usage.output_tokens for each in responses] == [12]


def test_an_inner_failure_that_ends_the_outer_turn_counts_once() -> None:
    inner = breaking(LOOK, ModelError("no", usage=tokens(4)))

    error = failed(outer(inner, raises=(ModelError,)))

    assert error.usage is not None
    assert error.usage.output_tokens == 1 + 14


def test_an_inner_failure_three_agents_down_counts_for_all_of_them() -> None:
    inmost = breaking(LOOK, ModelError("no", usage=tokens(4)))
    middle = outer(inmost)

    response = outer(middle).call("go").run()

    assert response.usage.output_tokens == 14 + 2 + 2


def test_a_failed_inner_agent_spends_the_outer_limits() -> None:
    charged: list[str | None] = []

    def cost(usage: Usage, model: str | None) -> float:
        charged.append(model)
        return float(usage.output_tokens or 0)

    inner = breaking(LOOK, ModelError("no", usage=tokens(4)))
    response = outer(inner, max_cost=15, cost=cost).call("go").run()

    assert response.limit is not None
    assert response.limit.name == "max_cost"
    assert charged == ["scripted", None]


def test_a_tool_that_is_no_agent_has_no_usage() -> None:
    @tool
    def fails() -> Observable[str]:
        """Fail."""
        return reactivex.throw(ToolFailedError("no"))

    model = ScriptedModel(Reply(calls=(*LOOK.calls, tool_call("fails"))), "ok")
    events = list(Agent(model, tools=[look, fails]).stream("go"))

    assert [e.usage for e in events if isinstance(e, ToolFinished)] == [None, None]


def test_an_agent_that_is_a_model_is_counted_once() -> None:
    """Two loops, one in the other: each adds its own earlier rounds."""
    inner = breaking(LOOK, ModelError("no", usage=tokens(4)))
    rounds = iter([True])
    other = tool(look.function, name="other")

    def ask(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        model: Exchange = (
            ScriptedModel(calls("other", 10)) if next(rounds, False) else inner
        )
        return requests.pipe(model)

    error = failed(Agent(ask, tools=[other], advisors=[tool_loop()]))

    assert isinstance(error, ModelError)
    assert error.usage is not None
    assert error.usage.output_tokens == 10 + 14


def test_an_agent_that_is_a_model_may_have_tools_of_its_own() -> None:
    """Their results are not for the outer loop, which has not called them."""
    inner = breaking(LOOK, Reply(deltas=("yes",), usage=tokens(4)))
    other = tool(look.function, name="other")

    response = Agent(inner, tools=[other]).call("go").run()

    assert response.text == "yes"
    assert response.usage.output_tokens == 14
