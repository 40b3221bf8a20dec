"""What ``answer=True`` does to what is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest
import reactivex
from reactivex import operators as ops

from rxagent import Agent
from rxagent.advisors import tool_loop
from rxagent.errors import ConfigurationError, GuardError
from rxagent.events import Finished, RoundFinished
from rxagent.guards import EventGuard, block, guard, redact
from rxagent.guards._answer import AnswerRewriter
from rxagent.guards._lift import TextLift
from rxagent.guards._own import text_guard
from rxagent.guards._text_guard import Channel
from rxagent.messages import (
    AssistantMessage,
    AssistantPart,
    Opaque,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    UserMessage,
)
from rxagent.responses import ChatResponse
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import tool

KEY = redact(r"sk-\d+", "[X]")


@tool
def echo(text: str) -> str:
    """Say it back."""
    return text


def rewritten(
    *parts: AssistantPart | str,
    channels: Sequence[Channel] = ("text",),
    own: object = KEY,
) -> tuple[AssistantPart, ...]:
    def lift() -> TextLift:
        make = text_guard(own)  # type: ignore[arg-type]
        return TextLift(make, name="own", channels=channels)

    message = AssistantMessage.of(*parts)
    rewriter = AnswerRewriter([lift], channels)
    (event,) = rewriter.feed(Finished(response=ChatResponse(message=message)))
    new = cast("Finished", event).response.message
    assert new.id == message.id
    assert (new is message) == (new.content == message.content)
    return new.content


@pytest.mark.parametrize("answer", [False, True])
def test_the_stored_answer_is_rewritten_if_that_is_wanted(answer: bool) -> None:
    model = ScriptedModel(Reply(deltas=("use sk-", "123, ok")))
    agent = Agent(model, advisors=[guard(KEY, answer=answer)])

    *deltas, end = agent.stream("go")

    said = "use [X], ok" if answer else "use sk-123, ok"
    assert "".join(getattr(each, "text", "") for each in deltas) == "use [X], ok"
    assert isinstance(end, Finished)
    assert end.response.text == said
    assert [each.text for each in end.response.transcript] == [said]


def test_each_round_is_rewritten_and_the_whole_transcript() -> None:
    model = ScriptedModel(
        Reply(deltas=("sk-1",), calls=(tool_call("echo", text="sk-2"),)), "sk-3"
    )
    agent = Agent(model, tools=[echo], advisors=[guard(KEY, answer=True), tool_loop()])

    events = list(agent.stream("go"))

    (round_end,) = (each for each in events if isinstance(each, RoundFinished))
    assert round_end.response.text == "[X]"
    end = cast("Finished", events[-1]).response
    assert [each.text for each in end.transcript] == ["[X]", "sk-2", "[X]"]


def test_a_match_that_is_cut_by_another_part_stands_where_it_starts() -> None:
    call = ToolCall(id="c", name="f")

    assert rewritten("a sk-", call, "12 b") == (
        Text(text="a [X]"),
        call,
        Text(text=" b"),
    )
    assert rewritten("sk-", call, "12") == (Text(text="[X]"), call)
    assert rewritten("fine", call) == (Text(text="fine"), call)


def test_what_the_end_adds_goes_to_the_last_text() -> None:
    footer = ops.concat(reactivex.just("!"))
    call = ToolCall(id="c", name="f")

    assert rewritten("a", "b", call, own=footer) == (
        Text(text="a"),
        Text(text="b!"),
        call,
    )


def test_only_chosen_channels_change_and_never_what_is_signed() -> None:
    parts: tuple[AssistantPart, ...] = (
        Reasoning(text="sk-1"),
        Reasoning(text="sk-2", signature="proof"),
        Opaque(dialect="x", data='{"a": "sk-3"}'),
        Refusal(text="sk-4"),
        Text(text="sk-5"),
        ToolCall(id="c", name="f", arguments='{"a": "sk-6"}'),
    )

    assert rewritten(*parts) == (*parts[:4], Text(text="[X]"), parts[5])
    assert rewritten(*parts, channels=("reasoning", "tool_arguments")) == (
        Reasoning(text="[X]"),
        *parts[1:5],
        ToolCall(id="c", name="f", arguments='{"a": "[X]"}'),
    )


def test_the_user_s_own_message_stays() -> None:
    mine = UserMessage.of("sk-1")
    response = ChatResponse(message=AssistantMessage.of("sk-1"), transcript=(mine,))
    rewriter = AnswerRewriter([], frozenset[Channel](["text"]))

    (event,) = rewriter.feed(Finished(response=response))

    assert cast("Finished", event).response.transcript == (mine,)


def test_what_was_never_delivered_is_found_in_the_answer() -> None:
    def silent(_: object) -> reactivex.Observable[Finished]:
        message = AssistantMessage.of("the code")
        return reactivex.just(Finished(response=ChatResponse(message=message)))

    agent = Agent(silent, advisors=[guard(block("code"), answer=True)])

    with pytest.raises(GuardError):
        agent.call("go").run()


def test_an_event_guard_alone_has_no_answer_to_rewrite() -> None:
    wait = EventGuard(name="wait", operator=ops.delay(1))

    with pytest.raises(ConfigurationError, match="needs a text guard"):
        guard(wait, answer=True)
