"""Cases about guards: pieces of an answer, and what of it may reach the consumer.

In virtual time: a piece every ten ticks, so that it is seen when the model is left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent import Agent
from rxagent.advisors import memory, tool_loop
from rxagent.errors import GuardError, ModelConnectionError
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    TextDelta,
    ToolCallDelta,
)
from rxagent.guards import (
    EventGuard,
    Pattern,
    TextGuard,
    block,
    by_sentence,
    guard,
    moderate,
    redact,
)
from rxagent.memory import CONVERSATION_ID, Conversation, MemoryStore
from rxagent.messages import AssistantMessage, Reasoning, Text, ToolCall
from rxagent.operators import concat_each, just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.testing import every_cut
from rxagent.tools import Tool
from rxagent.types import Advisor, Transducer
from tests.cases.case import Case, Cutting, Json
from tests.cases.gaps import NotSupportedError
from tests.cases.matchers import check
from tests.cases.words import check_error

__all__ = ["check_guardrail"]

_KNOWN = {
    "emitted",
    "emitted_prefix_of",
    "never_emitted",
    "completes",
    "error",
    "memory_never_contains",
    "upstream_cancelled",
    "next_request_valid",
    "error_on_await_result",
    "guardrail_reports",
    "max_held_back_chars",
    "items_before_completion",
    "tool_executions",
}
_GAP = 10


def check_guardrail(case: Case, cutting: Cutting) -> None:
    """Guard the answer, as it is cut and cut otherwise, and look at what is left."""
    del cutting
    if unknown := case.expect.keys() - _KNOWN:
        raise NotSupportedError(f"this reader does not know {unknown}")
    for deltas in _cuts(case.given["deltas"]):
        for is_outside in (True, False) if case.given.get("with_memory") else (True,):
            run = _Run(case.given, deltas, is_memory_outside=is_outside)
            run.listen()
            _check(case, run)


def _cuts(deltas: list[Any]) -> Iterator[list[Any]]:
    yield deltas
    if all(isinstance(delta, str) for delta in deltas):
        yield from map(list, every_cut("".join(deltas)))


def _check(case: Case, run: _Run) -> None:
    expect = case.expect
    said = "".join(each.text for each in run.seen if isinstance(each, TextDelta))
    check_error(expect.get("error"), run.error)
    if "emitted" in expect:
        check(expect["emitted"], said, "$.emitted")
    assert expect.get("emitted_prefix_of", said).startswith(said)
    for secret in expect.get("never_emitted", []):
        for text in run.delivered():
            assert secret not in text, f"{secret!r} was delivered, in {text!r}"
    for secret in expect.get("memory_never_contains", []):
        assert secret not in repr(run.stored()), f"{secret!r} was stored"
    told: Json = {
        "completes": isinstance(run.seen[-1], Finished) if run.seen else False,
        "upstream_cancelled": run.was_left,
        "items_before_completion": sum(isinstance(e, TextDelta) for e in run.seen),
        "tool_executions": run.executions,
        "guardrail_reports": run.reports,
    }
    check({name: expect[name] for name in expect.keys() & told.keys()}, told)
    if "max_held_back_chars" in expect:
        assert run.most_held() <= expect["max_held_back_chars"]
    if "error_on_await_result" in expect:
        assert (run.awaited() is not None) is expect["error_on_await_result"]
    if expect.get("next_request_valid"):
        run.listen()
        roles = [message.role for message in run.requests[-1].messages]
        assert all(a != b for a, b in pairwise(roles)), roles
        assert roles[-1] == "user"


@dataclass(slots=True)
class _Run:
    """An agent over a model that says ``deltas``, and what was seen of it."""

    given: Json
    deltas: list[Any]
    is_memory_outside: bool
    store: MemoryStore = field(default_factory=MemoryStore)
    seen: list[ChatEvent] = field(default_factory=list[ChatEvent])
    error: Exception | None = None
    requests: list[ChatRequest] = field(default_factory=list[ChatRequest])
    executions: list[Json] = field(default_factory=list[Json])
    answers: Any = None  # of the last request
    ends_at: int = 0

    @property
    def was_left(self) -> bool:
        """Whether the model's stream was closed before its end."""
        (subscription,) = self.answers.subscriptions
        return bool(subscription.unsubscribe < subscription.subscribe + self.ends_at)

    @property
    def reports(self) -> int:
        """How often the reader was told that a guard struck; the meaning is a guess."""
        retracted = sum(isinstance(each, Retracted) for each in self.seen)
        return retracted + isinstance(self.error, GuardError)

    def listen(self) -> None:
        self.seen, self.error = [], None
        clock = TestScheduler()
        self._agent(clock).stream("go").subscribe(
            self.seen.append, self._fail, scheduler=clock
        )
        clock.start()

    def awaited(self) -> Exception | None:
        """The error of who only awaits the answer."""
        self.error = None
        clock = TestScheduler()
        self._agent(clock).call("go").subscribe(on_error=self._fail, scheduler=clock)
        clock.start()
        return self.error

    def delivered(self) -> list[str]:
        """Every piece that was delivered, and what those of a kind are together."""
        pieces: list[tuple[str, str]] = []
        for event in self.seen:
            match event:
                case TextDelta(text=text):
                    pieces.append(("text", text))
                case ReasoningDelta(text=text):
                    pieces.append(("reasoning", text))
                case ToolCallDelta(index=index, arguments=text):
                    pieces.append((f"call {index}", text))
                case _:
                    pass
        whole: dict[str, str] = {}
        for kind, text in pieces:
            whole[kind] = whole.get(kind, "") + text
        return [*(text for _, text in pieces), *whole.values()]

    def stored(self) -> Sequence[object]:
        """What the memory keeps of the turn."""
        kept: list[Conversation] = []
        self.store.load("c").subscribe(kept.append)
        return kept[0].messages

    def most_held(self) -> int:
        """How much text is held at most, over all guards."""
        most = 0
        rules = [each for each in self.given["rules"] if each["action"] != "check"]
        for make in _text_guards(rules):
            transducer: Any = make()
            for delta in self.deltas:
                transducer.feed(delta)
                most = max(most, transducer.held)
        return most

    def _fail(self, error: Exception) -> None:
        self.error = error

    def _agent(self, clock: TestScheduler) -> Agent:
        calls = [each["tool_call"] for each in self.deltas if "tool_call" in each]
        loop = [tool_loop()] if calls else []
        guards = _advisors(self.given["rules"])
        kept = [memory(self.store, on_failure="mark")]
        if not self.given.get("with_memory"):
            kept = []
        around = [*kept, *loop, *guards]
        return Agent(
            self._model(clock),
            tools=[self._tool(call["name"]) for call in calls],
            advisors=around if self.is_memory_outside else [*loop, *guards, *kept],
            context={CONVERSATION_ID.name: "c"},
        )

    def _tool(self, name: str) -> Tool[..., object]:
        def function(**arguments: object) -> Observable[object]:
            self.executions.append({"name": name, "arguments": arguments})
            return just("done")

        return Tool.from_schema(
            function, name=name, description="", parameters={"type": "object"}
        )

    def _model(
        self, clock: TestScheduler
    ) -> Callable[[Observable[ChatRequest]], Observable[ChatEvent]]:
        messages: list[Any] = [
            ReactiveTest.on_next(_GAP * number, event)
            for number, event in enumerate(_events(self.deltas), start=1)
        ]
        self.ends_at = _GAP * len(messages)
        if self.given.get("then") == "error":
            lost = ModelConnectionError("lost")
            messages[-1] = ReactiveTest.on_error(self.ends_at, lost)
        else:
            messages.append(ReactiveTest.on_completed(self.ends_at))

        def answer(request: ChatRequest) -> Observable[ChatEvent]:
            self.requests.append(request)
            answers = clock.create_cold_observable(*messages)
            self.answers = answers
            return answers

        return concat_each(answer)


def _events(deltas: list[Any]) -> Iterator[ChatEvent]:
    content: list[Any] = []
    index = 0
    for delta in deltas:
        match delta:
            case {"reasoning": text}:
                yield ReasoningDelta(text=text)
                content.append(Reasoning(text=text))
            case {"tool_call": {"id": call_id, "name": name, "arguments": given}}:
                text = given if isinstance(given, str) else json.dumps(given)
                yield ToolCallDelta(index=index, id=call_id, name=name, arguments=text)
                content.append(ToolCall(id=call_id, name=name, arguments=text))
                index += 1
            case str():
                yield TextDelta(text=delta)
                content.append(Text(text=delta))
            case _:
                raise NotSupportedError(f"delta {delta}")
    message = AssistantMessage.of(*content)
    yield Finished(
        response=ChatResponse(
            message=message,
            finish_reason="tool_calls" if message.tool_calls else "stop",
            transcript=(message,),
        )
    )


def _advisors(rules: Sequence[Json]) -> list[Advisor]:
    """One guard for rules of one action that stand together and see the same."""
    return [
        guard(_ACTIONS[action](list(group)), channels=channels)
        for (action, channels), group in groupby(rules, key=_kind)
    ]


def _text_guards(
    rules: Sequence[Json],
) -> Iterator[Callable[[], Transducer[str, str]]]:
    for (action, _), group in groupby(rules, key=_kind):
        yield _TEXT_GUARDS[action](list(group))


def _kind(rule: Json) -> tuple[str, tuple[Any, ...]]:
    if rule["action"] not in _ACTIONS:
        raise NotSupportedError(f"action {rule['action']}")
    return rule["action"], tuple(rule.get("channels", ["text"]))


def _moderate(rules: Sequence[Json]) -> EventGuard:
    """One check for all, as slow as the slowest; a tick is a millisecond."""
    if any(rule["unit"] != "sentence" for rule in rules):
        raise NotSupportedError("a check of anything but sentences")

    def check(text: str) -> Observable[bool | str]:
        is_fine = not any(rule["rejects"] in text for rule in rules)
        slowest = max(rule.get("delay_ms", 0) for rule in rules)
        return reactivex.timer(float(slowest)).pipe(ops.map(lambda _: is_fine))

    return moderate(check, window=by_sentence(), timeout_s=None)


def _redact(rules: Sequence[Json]) -> Callable[[], Transducer[str, str]]:
    return redact(
        [
            Pattern(expression=rule["pattern"], replacement=rule.get("replacement"))
            for rule in rules
        ]
    )


def _block(rules: Sequence[Json]) -> Callable[[], Transducer[str, str]]:
    return block([rule["pattern"] for rule in rules])


_TEXT_GUARDS: dict[
    str, Callable[[Sequence[Json]], Callable[[], Transducer[str, str]]]
] = {"redact": _redact, "block": _block}
_ACTIONS: dict[str, Callable[[Sequence[Json]], TextGuard | EventGuard]] = {
    **_TEXT_GUARDS,
    "check": _moderate,
}
