"""The laws of DESIGN as checks that a user can run on an advisor of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import reactivex
from reactivex import Observable, abc
from reactivex import operators as ops
from reactivex.testing import TestScheduler

from rxagent.events import ChatEvent, Finished
from rxagent.messages import UserMessage
from rxagent.operators import just
from rxagent.requests import ChatRequest, Origin
from rxagent.testing._scripted_model import Reply, ScriptedModel, Step
from rxagent.types import Advisor, Exchange

__all__ = ["assert_advisor_laws", "assert_exchange_laws", "assert_grammar"]


def assert_grammar(events: Sequence[ChatEvent]) -> None:
    """Law 1: any events, then exactly one `Finished`, which is last.

    Args:
        events: All events of one answer.
    """
    ends = [index for index, event in enumerate(events) if isinstance(event, Finished)]
    assert ends == [len(events) - 1], (
        f"expected one Finished, as the last of {len(events)} events, got it at {ends}"
    )


def assert_exchange_laws(
    exchange: Exchange, *, request: ChatRequest | None = None
) -> None:
    """Check a model, an agent or a chain that answers the same way each time.

    Laws 1 (grammar), 2 (cold and fresh) and 5 (cancel anywhere), over an exchange that
    emits while subscribing.

    Args:
        exchange: A deterministic one, such as a chain over a scripted model.
        request: What to ask.
    """
    answer = just(request or _request("hello")).pipe(exchange)
    events = _collect(answer)
    assert_grammar(events)
    assert _collect(answer) == events, "a second subscription gave other events"
    for count in range(len(events)):
        seen = _collect(answer.pipe(ops.take(count)))
        assert seen == events[:count], f"disposed after {count} events, it gave {seen}"


def assert_advisor_laws(
    advisor: Advisor,
    *,
    request: ChatRequest | None = None,
    reply: Reply | None = None,
) -> None:
    """Check an advisor over answers of several shapes.

    Laws 1 (grammar), 2 (cold and fresh), 5 (cancel anywhere: what it opened is closed),
    7 (turns that run at once do not mix), 8 (an error is never silence), and that it
    passes on events that it does not know.

    Args:
        advisor: To be wrapped around scripted exchanges.
        request: What to ask; by default a short text.
        reply: What the rest answers; by default answers of several shapes.
    """
    asked = request or _request("hello")
    for each in _REPLIES if reply is None else (reply,):
        probe = _Probe(each)
        answer = just(asked).pipe(advisor(probe))
        assert probe.opened == 0, "it acted before anybody subscribed"
        assert_exchange_laws(advisor(probe), request=asked)
        _assert_closes_what_it_opens(advisor, each, asked, len(_collect(answer)))
    _assert_unknown_events_pass(advisor, asked)
    _assert_errors_are_not_silent(advisor, asked)
    _assert_turns_do_not_mix(advisor, asked)


class _Unknown:
    """An event of a kind that no operator knows."""


_GAP_S = 10.0

_REPLIES = (
    Reply(deltas=("Hel", "lo", "!")),
    Reply(),
    Reply(reasoning=("hm", "m"), deltas=("yes",)),
    Reply(deltas=("to be cont",), finish_reason="length"),
)


class _Probe:
    """An exchange from a script that counts what is opened and closed."""

    def __init__(self, step: Step, *, prelude: Sequence[ChatEvent] = ()) -> None:
        self.opened = 0
        self.closed = 0
        self._model = ScriptedModel(step, repeat_last=True)
        self._prelude = prelude

    def __call__(self, requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        def open_(_: abc.SchedulerBase) -> Observable[ChatEvent]:
            self.opened += 1
            return reactivex.concat(just(*self._prelude), self._model(requests))

        def close() -> None:
            self.closed += 1

        return reactivex.defer(open_).pipe(ops.finally_action(close))


def _request(text: str) -> ChatRequest:
    return ChatRequest(
        messages=(UserMessage.of(text),), origin=Origin(run_id=text, path=("law",))
    )


def _collect(source: Observable[ChatEvent]) -> list[ChatEvent]:
    """Everything that ``source`` emits while subscribing; its error is raised."""
    events: list[ChatEvent] = []
    errors: list[Exception] = []
    completions: list[None] = []
    source.subscribe(events.append, errors.append, lambda: completions.append(None))
    if errors:
        raise errors[0]
    assert completions == [None], "it neither completed nor failed while subscribing"
    return events


def _assert_closes_what_it_opens(
    advisor: Advisor, reply: Reply, request: ChatRequest, length: int
) -> None:
    """Leave between any two events of an answer that takes its time."""
    for moment in range(length + 2):
        probe = _Probe(replace(reply, first_s=_GAP_S, gap_s=_GAP_S))
        scheduler = TestScheduler()
        errors: list[Exception] = []
        subscription = (
            just(request)
            .pipe(advisor(probe))
            .subscribe(on_error=errors.append, scheduler=scheduler)
        )
        scheduler.advance_to((moment + 0.5) * _GAP_S)
        opened = probe.opened
        subscription.dispose()
        closed = probe.closed
        scheduler.start()
        assert probe.opened == opened, "after it was disposed, it asked the rest again"
        assert closed == opened, "disposed, it left an inner stream open"


def _assert_unknown_events_pass(advisor: Advisor, request: ChatRequest) -> None:
    unknown = cast("ChatEvent", _Unknown())
    probe = _Probe("fine", prelude=[unknown])
    events = _collect(just(request).pipe(advisor(probe)))
    assert not probe.opened or unknown in events, "it swallowed an event"


def _assert_errors_are_not_silent(advisor: Advisor, request: ChatRequest) -> None:
    broken = OSError("the inner exchange broke")
    events: list[ChatEvent] = []
    errors: list[Exception] = []
    probe = _Probe(Reply(deltas=("par",), error=broken))
    just(request).pipe(advisor(probe)).subscribe(events.append, errors.append)
    if not errors:
        assert_grammar(events)


def _assert_turns_do_not_mix(advisor: Advisor, request: ChatRequest) -> None:
    """Each turn echoes its own question, slowly, while the others do the same."""

    def echo(request: ChatRequest) -> Step:
        words = tuple(f"{request.origin.run_id} " * 3)
        return Reply(deltas=words, gap_s=1.0)

    exchange = advisor(ScriptedModel(echo, repeat_last=True))
    turns = {
        name: replace(request, origin=replace(request.origin, run_id=name))
        for name in ("a", "b", "c")
    }
    alone = {
        name: _run_at_once(TestScheduler(), {name: turn}, exchange)[name]
        for name, turn in turns.items()
    }
    together = _run_at_once(TestScheduler(), turns, exchange)
    assert together == alone, "turns that ran at once differ from turns that ran alone"


def _run_at_once(
    scheduler: TestScheduler, turns: Mapping[str, ChatRequest], exchange: Exchange
) -> dict[str, list[ChatEvent]]:
    seen: dict[str, list[ChatEvent]] = {name: [] for name in turns}
    errors: list[Exception] = []
    for name, turn in turns.items():
        just(turn).pipe(exchange).subscribe(
            seen[name].append, errors.append, scheduler=scheduler
        )
    scheduler.start()
    if errors:
        raise errors[0]
    for events in seen.values():
        assert_grammar(events)
    return seen
