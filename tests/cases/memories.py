"""Cases about memory: what a model is sent of a conversation, and what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence, Set
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from rxagent import Agent
from rxagent.advisors import memory
from rxagent.events import ToolFinished, ToolStarted
from rxagent.memory import (
    CONVERSATION_ID,
    Conversation,
    MemoryStore,
    Window,
    last_messages,
)
from rxagent.memory.recall import recall
from rxagent.messages import AssistantMessage, Message, ToolMessage, UserMessage
from rxagent.runtime import Flow, iterate
from rxagent.testing import ScriptedModel
from rxagent.tools import Tool
from tests.cases.answers import model_of
from tests.cases.case import Answer, Case, Cutting, Fail, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.invariants import check_invariants, neutral_messages
from tests.cases.matchers import check, matches
from tests.cases.replay import Replay, streamed
from tests.cases.words import listen, message_of

__all__ = ["check_memory", "check_memory_run", "neutral"]

_WINDOW = {
    "window",
    "window_alternatives",
    "request_messages_last_turn",
    "first",
    "last",
    "max_len",
    "contains_in_order",
    "invariants",
}
_RUN = {
    "request_messages",
    "request_sizes",
    "stored_after_turn",
    "stored",
    "last_text",
    "error_reaches_consumer",
    "invariants_on_request",
}
_CONTEXT = {CONVERSATION_ID.name: "case"}


def check_memory(case: Case, cutting: Cutting) -> None:
    """What of a conversation goes to the model."""
    del cutting
    given, expect = case.given, case.expect
    _refuse(given.keys() - {"kind", "window", "add", "system", "turns", "mid_run"})
    _refuse(expect.keys() - _WINDOW)
    history, prompt = _parted(given)
    window = _window(given)
    if prompt:
        shown = _sent(history, prompt, window)
    else:
        shown = recall(history, (), window=window)
    found = [neutral(each) for each in shown]

    if "window" in expect or "window_alternatives" in expect:
        wanted = expect.get("window_alternatives", [])
        wanted += [expect["window"]] if "window" in expect else []
        assert any(matches(each, found) for each in wanted), found
    if "request_messages_last_turn" in expect:
        check(expect["request_messages_last_turn"], found)
    if "first" in expect:
        check(expect["first"], found[0], "$.first")
    if "last" in expect:
        check(expect["last"], found[-1], "$.last")
    assert len(found) <= expect.get("max_len", len(found)), found
    _check_in_order(expect.get("contains_in_order", []), found)
    check_invariants(expect.get("invariants", []), found)


def check_memory_run(case: Case, cutting: Cutting) -> None:
    """Turns of one conversation, over the wire."""
    del cutting
    _refuse(case.given.keys() - {"kind", "window", "given", "turns"})
    _refuse(case.expect.keys() - _RUN)
    run, expect = asyncio.run(_run(case.given)), case.expect
    for turn, wanted in expect.get("request_messages", {}).items():
        check(wanted, run.requests[run.first_request[int(turn)]], f"$.request {turn}")
    told: Json = {
        "request_sizes": [len(each) for each in run.requests],
        "stored_after_turn": [len(each) for each in run.stored],
        "stored": run.stored[-1] if run.stored else [],
        "last_text": run.texts[-1] if run.texts else None,
        "error_reaches_consumer": bool(run.errors),
    }
    check({name: expect[name] for name in expect.keys() & told.keys()}, told)
    for messages in run.requests:
        check_invariants(expect.get("invariants_on_request", []), messages)


def _refuse(unknown: Set[str]) -> None:
    if unknown:
        raise NotSupportedError(f"this reader does not know {unknown}")


def _window(given: Json) -> Window | None:
    settings = given.get("window", {})
    _refuse(settings.keys() - {"max_messages"})
    return last_messages(settings["max_messages"]) if settings else None


def _parted(given: Json) -> tuple[list[Message], list[Message]]:
    """What is stored, and the turn that is open.

    Instructions stand in each turn, as a program repeats them.
    """
    texts = [given["system"]] if "system" in given else []
    system = [{"role": "system", "content": text} for text in texts]
    turns = [[*system, *turn] for turn in given.get("turns", [])]
    added = [*given.get("add", []), *(each for turn in turns for each in turn)]
    mid_run = given.get("mid_run")
    if isinstance(mid_run, list):
        added += mid_run
    messages = [message_of(each) for each in added]
    users = [n for n, each in enumerate(messages) if isinstance(each, UserMessage)]
    is_open = bool(mid_run) or isinstance(messages[-1], UserMessage | ToolMessage)
    start = users[-1] if users and is_open else len(messages)
    repeated = [message_of(each) for each in system] if start < len(messages) else []
    return messages[:start], [*repeated, *messages[start:]]


def _sent(
    history: Sequence[Message], prompt: Sequence[Message], window: Window | None
) -> Sequence[Message]:
    store = MemoryStore()
    _seed(store, history)
    model = ScriptedModel("ok")
    agent = Agent(model, advisors=[memory(store, window=window)])
    agent.call(prompt, context=_CONTEXT).run()
    return model.requests[0].messages


def _seed(store: MemoryStore, messages: Sequence[Message]) -> None:
    Flow.of(store.append("case", messages)).run()


def neutral(message: Message) -> Json:
    """A message that is stored, in the neutral form."""
    told: Json = {"role": message.role, "content": message.text}
    if isinstance(message, ToolMessage):
        told["tool_call_id"] = message.tool_call_id
    if isinstance(message, AssistantMessage):
        told["reasoning"] = message.reasoning or None
        told["tool_calls"] = [
            {"id": each.id, "name": each.name, "arguments": each.arguments}
            for each in message.tool_calls
        ] or None
    return told


def _check_in_order(wanted: list[Any], found: list[Json]) -> None:
    rest = iter(found)
    for each in wanted:
        pattern = each if isinstance(each, dict) else {"content": each}
        assert any(matches(pattern, one) for one in rest), f"{each} is not in {found}"


@dataclass(slots=True, kw_only=True)
class _Run:
    """What was seen of the turns."""

    requests: list[list[Json]] = field(default_factory=list[list[Json]])
    first_request: list[int] = field(default_factory=list[int])
    stored: list[list[Json]] = field(default_factory=list[list[Json]])
    texts: list[str] = field(default_factory=list[str])
    errors: list[Exception] = field(default_factory=list[Exception])


async def _run(given: Json) -> _Run:
    run = _Run()
    turns: list[Json] = given["turns"]
    store = MemoryStore()
    if "given" in given:
        await Flow.of(
            store.append("case", [message_of(each) for each in given["given"]])
        )
    transport = Replay([answer for turn in turns for answer in _answers(turn)])
    async with httpx.AsyncClient(transport=transport) as client:
        for turn in turns:
            run.first_request.append(len(transport.requests))
            advisors = [memory(store, window=_window(given))]
            agent = Agent(model_of(client), tools=_tools(turn), advisors=advisors)
            await _take(agent, turn, run)
            kept = await Flow[Conversation].of(store.load("case"))
            run.stored.append([neutral(each) for each in kept.messages])
    run.requests = [neutral_messages(body) for body in transport.requests]
    return run


async def _take(agent: Agent, turn: Json, run: _Run) -> None:
    flow = agent.stream(turn["user"], context=_CONTEXT)
    if "tool_calls" not in turn["reply"]:
        outcome = await listen(flow)
        if outcome.error is not None:
            run.errors.append(outcome.error)
        if outcome.response is not None:
            run.texts.append(outcome.response.text)
        return
    started = set(turn["reply"]["tool_calls"])
    waiting = {*turn["reply"].get("results_before_cancel", [])}
    async with aclosing(iterate(flow)) as events:
        async for event in events:
            if isinstance(event, ToolStarted):
                started.discard(event.call.name)
            if isinstance(event, ToolFinished):
                waiting.discard(event.call.name)
            if not started and not waiting:
                return


def _answers(turn: Json) -> list[Answer]:
    """What the provider sends in one turn, request by request."""
    _refuse(turn.keys() - {"user", "reply", "reply_rounds"})
    rounds = [
        streamed({"tool_calls": [_call(name, id_=name) for name in ids]})
        for ids in turn.get("reply_rounds", [])
    ]
    match turn["reply"]:
        case {"text": text}:
            return [*rounds, streamed({"text": text})]
        case {"text_then_error": text}:
            whole = streamed({"text": text})
            return [*rounds, replace(whole, reads=(whole.reads[0], Fail()))]
        case {"tool_calls": names, **rest}:
            _refuse({*map(str, rest)} - {"results_before_cancel"})
            calls = [_call(name, id_=f"call_{n}") for n, name in enumerate(names)]
            return [*rounds, streamed({"tool_calls": calls})]
        case reply:
            raise NotSupportedError(f"a reply {reply}")


def _call(name: str, *, id_: str) -> Json:
    return {"id": id_, "name": name, "arguments": "{}"}


def _tools(turn: Json) -> list[Tool[..., object]]:
    """A tool for each name: it returns, or it never does if the turn is left before."""
    returning = {id_ for ids in turn.get("reply_rounds", []) for id_ in ids}
    called = turn["reply"].get("tool_calls", [])
    returning |= {*turn["reply"].get("results_before_cancel", [])}

    def made(name: str) -> Tool[..., object]:
        async def function() -> str:
            if name not in returning:
                await asyncio.Event().wait()
            return f"r-{name}"

        schema = {"type": "object"}
        return Tool.from_schema(function, name=name, description="", parameters=schema)

    return [made(name) for name in sorted(returning | {*called})]
