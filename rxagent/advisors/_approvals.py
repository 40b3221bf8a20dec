"""Asking for the approval of calls, one after the other, before any of them runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from reactivex import Observable, abc, empty
from reactivex.disposable import (
    CompositeDisposable,
    SerialDisposable,
    SingleAssignmentDisposable,
)

from rxagent.advisors._resumption import check_usable
from rxagent.choices import check_choice
from rxagent.context import Context
from rxagent.decisions import Approve, Decision, Reject, Reply
from rxagent.errors import AdvisorError, RxAgentError
from rxagent.events import ApprovalRequested
from rxagent.messages import ToolCall
from rxagent.operators import concat_each, just
from rxagent.requests import Origin, ToolSpec
from rxagent.runtime import LoopScheduler, loop_for
from rxagent.tools.rules import NeedsApproval
from rxagent.tools.tool import is_tool

Approver: TypeAlias = Callable[[ApprovalRequested], Observable[Decision]]
"""Asked for each call that needs approval; its first decision counts."""

OnNoDecision: TypeAlias = Literal["reject", "pause"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalPolicy:
    """See `tool_loop`."""

    approve: Approver | None
    needs_approval: NeedsApproval
    timeout_s: float | None
    on_timeout: OnNoDecision

    def __post_init__(self) -> None:
        check_choice("on_approval_timeout", self.on_timeout, OnNoDecision)

    def concerns(self, call: ToolCall, spec: ToolSpec | None, context: Context) -> bool:
        """Whether ``call`` has to be approved."""
        declared = spec.rules.needs_approval if is_tool(spec) else False
        return any(
            rule if isinstance(rule, bool) else rule(call, context)
            for rule in (declared, self.needs_approval)
        )

    def are_used_for(self, tools: Iterable[ToolSpec]) -> bool:
        """Whether any call of ``tools`` may have to be approved."""
        rules = [each.rules.needs_approval for each in tools if is_tool(each)]
        return any(rule is not False for rule in (self.needs_approval, *rules))

    def ask(
        self,
        calls: Sequence[ToolCall],
        *,
        origin: Origin,
        decided: Callable[[ToolCall, Decision | None], None],
    ) -> Observable[ApprovalRequested]:
        """Ask for one call after the other.

        Args:
            calls: That need approval.
            origin: Put on the events.
            decided: Told each decision; ``None`` if the turn shall pause instead.

        Returns:
            An event for each call, before its approver is asked; without an approver
            nothing, and the turn shall pause.
        """
        approve = self.approve

        def ask_one(call: ToolCall) -> Observable[ApprovalRequested]:
            if approve is None:
                decided(call, None)
                return empty()
            asked = ApprovalRequested(call=call, origin=origin)
            return self._ask_one(approve, asked, decided)

        return just(*calls).pipe(concat_each(ask_one))

    def _ask_one(
        self,
        approve: Approver,
        asked: ApprovalRequested,
        decided: Callable[[ToolCall, Decision | None], None],
    ) -> Observable[ApprovalRequested]:
        def subscribe(
            observer: abc.ObserverBase[ApprovalRequested],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            timer = SerialDisposable()
            answering = SingleAssignmentDisposable()
            both = CompositeDisposable(timer, answering)
            is_open = threading.Lock()  # a button and a clock have threads of their own

            def end(decision: Decision | None) -> None:
                if is_open.acquire(blocking=False):
                    both.dispose()
                    decided(asked.call, decision)
                    observer.on_completed()

            def hear(said: object) -> None:
                try:
                    decision = _usable(said, asked.call)
                except RxAgentError as error:
                    observer.on_error(error)
                else:
                    end(decision)

            def give_up(*_: object) -> None:
                nobody = Reject(reason="nobody has decided in time")
                end(None if self.on_timeout == "pause" else nobody)

            observer.on_next(asked)
            answer = approve(asked)
            if not isinstance(answer, Observable):
                raise AdvisorError(
                    "tool_loop",
                    f"got {answer!r} from approve, where an Observable was expected",
                )
            if self.timeout_s is not None:
                clock = scheduler or LoopScheduler(loop_for(None))
                timer.disposable = clock.schedule_relative(self.timeout_s, give_up)
            answering.disposable = answer.subscribe(
                hear,
                observer.on_error,
                lambda: end(Reject(reason="nobody has decided")),
                scheduler=scheduler,
            )
            return both

        return Observable(subscribe)


def _usable(said: object, call: ToolCall) -> Decision:
    if not isinstance(said, Approve | Reject | Reply):
        raise AdvisorError(
            "tool_loop",
            f"was told {said!r} by approve, where Approve, Reject or Reply was "
            "expected",
        )
    check_usable(call.id, said)
    return said
