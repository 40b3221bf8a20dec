from __future__ import annotations

import pytest
from reactivex.testing.marbles import marbles_testing

from rxagent.advisors import memory, tool_loop, trim
from rxagent.agent import Agent
from rxagent.errors import ConfigurationError
from rxagent.events import Finished, TextDelta
from rxagent.memory import MemoryStore
from rxagent.messages import AssistantMessage, Message, UserMessage
from rxagent.operators import concat_each
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.testing import Reply, ScriptedModel, tool_call
from tests.advisors.remembering import ID, assert_valid, look, shown, stored
from tests.marbles import Letters, comparable, drawn

LOOK = Reply(calls=(tool_call("look", what="x"),))


def one(_: Message) -> int:
    return 1


def test_inside_the_loop_every_round_fits() -> None:
    """S001-83, S001-85: the history that the loop brings along grows all the same."""
    model = ScriptedModel("A", LOOK, LOOK, LOOK, "done")
    store = MemoryStore()
    agent = Agent(
        model,
        system="s",
        tools=[look],
        advisors=[memory(store), tool_loop(), trim(6, count=one)],
        context=ID,
    )

    agent.call("a").run()
    agent.call("b").run()

    assert [len(each.messages) for each in model.requests] == [2, 4, 6, 6, 6]
    for request in model.requests:
        assert_valid(request.messages)
        assert request.messages[0].text == "s"
    assert len(stored(store)) == 10


def test_a_prompt_is_never_empty() -> None:
    """S001-84: what is too long by itself is for the provider to refuse."""
    model = ScriptedModel("A", repeat_last=True)
    agent = Agent(model, system="Be brief.", advisors=[trim(1)])

    agent.call("a very long question").run()

    assert shown(model.requests[0].messages) == [
        "system Be brief.",
        "user a very long question",
    ]


def test_the_estimate_counts_without_any_function() -> None:
    model = ScriptedModel("A", repeat_last=True)
    agent = Agent(model, advisors=[trim(20)])
    old: list[Message] = [UserMessage.of("x" * 80), AssistantMessage.of("y")]

    agent.call([*old, UserMessage.of("now")]).run()

    assert shown(model.requests[0].messages) == ["user now"]
    assert str(trim(20)) == "trim(max_tokens=20)"


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="max_tokens must be 1 or more"):
        trim(0)
    with pytest.raises(ConfigurationError, match="count takes a function"):
        trim(1, count=4)  # type: ignore[arg-type]


def test_the_marble_of_the_docstring_is_what_happens() -> None:
    given_, expected = drawn(trim.__doc__)
    assert given_ is not None
    letters: Letters = {
        "q": ChatRequest(messages=(UserMessage.of("a"),)),
        "a": TextDelta(text="a"),
        "b": TextDelta(text="b"),
        "F": Finished(response=ChatResponse(message=AssistantMessage.of("ab"))),
    }
    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        answer = cold("--a--b--(F,|)", letters, None)
        advised = trim(1000)(concat_each(lambda _: answer))
        got = start(cold(given_, letters, None).pipe(advised))
        assert comparable(got) == comparable(exp(expected, letters, None))
