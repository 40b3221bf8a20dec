"""What the tests of memory share: agents in one conversation, and what is stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import reactivex
from reactivex import Observable

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.errors import StoreError
from rxagent.memory import Conversation, ConversationStore, MemoryStore
from rxagent.messages import AssistantMessage, Message
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.runtime import Flow
from rxagent.testing import ScriptedModel
from rxagent.tools import tool
from rxagent.types import Advisor
from rxagent.wire import AnthropicDialect, OpenAIChatDialect
from tests.cases.invariants import check_invariants, neutral_messages
from tests.memory.mutilated import INVARIANTS

T = TypeVar("T")

__all__ = [
    "ID",
    "Watched",
    "agent_of",
    "assert_valid",
    "look",
    "notice",
    "shown",
    "stored",
]

ID = {"rxagent.conversation_id": 7}


@tool
def look(what: str) -> Observable[str]:
    """Look at something."""
    return just(f"{what}!")


@tool(return_direct=True)
def notice() -> Observable[str]:
    """Return the notice."""
    return just("NOTICE")


class Watched(MemoryStore):
    """A store that lists what is asked of it, and fails when it is told to."""

    def __init__(self, *, failing: Sequence[str] = ()) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.failing = {*failing}

    def load(self, conversation_id: str) -> Observable[Conversation]:
        return self._watched("load", super().load(conversation_id))

    def append(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        appended = super().append(
            conversation_id, messages, expected_version=expected_version
        )
        return self._watched(f"append {len(messages)}", appended)

    def _watched(self, what: str, done: Observable[T]) -> Observable[T]:
        def subscribe(_: object) -> Observable[T]:
            self.asked.append(what)
            if what.split()[0] in self.failing:
                return reactivex.throw(StoreError("7", "is on fire"))
            return done

        return reactivex.defer(subscribe)


def agent_of(
    model: ScriptedModel,
    remembering: Advisor,
    *,
    inside: bool = False,
    outer: Sequence[Advisor] = (),
) -> Agent:
    """An agent with tools, its memory on the one side of the loop or on the other."""
    pair = [tool_loop(), remembering] if inside else [remembering, tool_loop()]
    return Agent(model, tools=[look, notice], advisors=[*outer, *pair], context=ID)


def stored(store: ConversationStore) -> tuple[Message, ...]:
    """The messages of the conversation."""
    return Flow[Conversation].of(store.load("7")).run().messages


def shown(messages: Sequence[Message]) -> list[str]:
    """Who said what, in a word each."""
    return [_shown(each) for each in messages]


def _shown(message: Message) -> str:
    calls = [""]
    if isinstance(message, AssistantMessage):
        calls = [f"calls {each.name}" for each in message.tool_calls]
    mark = f"({message.mark})" if message.mark else ""
    return " ".join(filter(None, [message.role, message.text, *calls, mark]))


def assert_valid(messages: Sequence[Message]) -> None:
    """Whether OpenAI and Anthropic take the messages."""
    request = ChatRequest(messages=tuple(messages))
    for protocol, dialect in (
        ("openai-chat", OpenAIChatDialect()),
        ("anthropic-messages", AnthropicDialect()),
    ):
        body = json.loads(dialect.encode(request, model="m", stream=True))
        neutral = neutral_messages(body, protocol)
        check_invariants(INVARIANTS, neutral)
        roles = [each["role"] for each in neutral]
        for one, following in pairwise(roles):
            assert (one, following) != ("user", "user")
