"""The rounds of one turn: which stream follows which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from reactivex import Observable

from rxagent.advisors._approvals import ApprovalPolicy
from rxagent.advisors._call_limits import Breach, TurnLimits
from rxagent.advisors._decided import carried_out
from rxagent.advisors._pause import paused
from rxagent.advisors._resumption import Resumption
from rxagent.advisors._turn import Turn
from rxagent.decisions import Approve, Decision
from rxagent.errors import ArgumentsError, LimitError, SnapshotError, ToolError
from rxagent.events import ChatEvent, ToolFinished
from rxagent.messages import ToolCall
from rxagent.operators import concat_each, just
from rxagent.snapshots import Claim
from rxagent.tools import CallSettings, Executor, run_batch
from rxagent.tools.report import Report
from rxagent.tools.tool import is_tool
from rxagent.tools.withheld import Withheld
from rxagent.wire.arguments import parse_arguments

_PATIENCE = 2  # rounds in a row of nothing but what the model was told not to do

OnEnvironment: TypeAlias = Literal["proceed", "pause"]


class Rounds:
    """What comes after what in a turn.

    Args:
        turn: What it has come to.
        ask: Asks the model the turn's request.
        now: The time, by the clock of the stream.
        limits: Of the turn.
        approvals: Which calls need approval, and whose.
        executor: Runs the calls of a round.
        settings: How each is run.
        on_environment: Whether failures of the environment pause the turn.
    """

    def __init__(
        self,
        turn: Turn,
        *,
        ask: Callable[[], Observable[ChatEvent]],
        now: Callable[[], datetime],
        limits: TurnLimits,
        approvals: ApprovalPolicy,
        executor: Executor | None,
        settings: CallSettings,
        on_environment: OnEnvironment | None,
    ) -> None:
        self.ask = ask
        self._turn = turn
        self._now = now
        self._limits = limits
        self._approvals = approvals
        self._executor = executor
        self._settings = settings
        self._on_environment = on_environment
        self._batch_runs = False
        self._breach: Breach | None = None  # that ends the turn after this batch
        self._was_told = False  # that no tools are left
        self._idle = 0  # rounds in a row of which limits have stopped all calls

    def hear(self, _: None, event: ChatEvent) -> None:
        """Take what a round or a batch emits."""
        self._turn.remember(event)

    def again(self, _: None) -> Observable[ChatEvent] | None:
        """What follows the stream that has just completed."""
        turn = self._turn
        if turn.is_over:
            return None
        if self._batch_runs:
            self._batch_runs = False
            following = self._after_batch()
            kept = turn.memory.keep(turn.response) if turn.is_over else None
            return self._in_turn(kept, following)
        if not turn.is_answered:
            return None  # whoever looks at the whole turn misses its end
        turn.is_answered = False
        return self._check_limits()

    def resume(self, resumption: Resumption, claim: Claim) -> Observable[ChatEvent]:
        """Go on with the calls of a paused turn.

        Raises:
            RequestError: If the decisions, or the tools, do not fit the pause.
            SnapshotError: If it has been resumed before.
        """
        snapshot, decisions = resumption.snapshot, resumption.decisions
        turn = self._turn
        resumption.check(turn.tools)
        if not claim(snapshot.id):
            raise SnapshotError(
                f"the paused turn {snapshot.id} has been resumed already; "
                "what a resumed turn did cannot be done twice"
            )
        if snapshot.reason == "environment":
            for call in turn.failed_calls():
                if isinstance(decisions.get(call.id), Approve):
                    turn.forget(call)
                else:
                    turn.accept(call)
        for call in turn.open_calls:
            if (decision := resumption.decision(call.id)) is not None:
                turn.decided[id(call)] = decision
        return self._check_approvals(turn.open_calls)

    def _check_limits(self) -> Observable[ChatEvent]:
        """Run the calls of a round that no limit stops."""
        turn = self._turn
        stopped: list[tuple[ToolCall, Breach]] = []
        free: list[ToolCall] = []
        for call, breach in zip(
            turn.calls, turn.watch.of_calls(turn.calls), strict=True
        ):
            if breach is None:
                free.append(call)
            else:
                stopped.append((call, breach))
        self._idle = 0 if free else self._idle + 1
        for _, breach in stopped:
            reaction = self._limits.reaction(breach.limit)
            if reaction == "raise":
                raise self._limit_error(breach)
            if reaction == "finish" or self._was_told or self._idle > _PATIENCE:
                self._breach = breach
        if self._was_told and self._breach is None:
            self._breach = self._turn_limit()
        if self._breach is not None:
            end = self._breach
            return self._refused([(call, end) for call in turn.calls])
        return self._in_turn(
            self._refused(stopped) if stopped else None,
            self._check_approvals(free) if free else None,
        )

    def _check_approvals(self, calls: Sequence[ToolCall]) -> Observable[ChatEvent]:
        """Run calls once all that need approval have it."""
        turn, approvals = self._turn, self._approvals
        waiting = [
            call
            for call in calls
            if id(call) not in turn.decided
            and self._can_run(call)
            and approvals.concerns(
                call, turn.tools.get(call.name), turn.request.context
            )
        ]
        if not waiting:
            return self._run(calls)
        undecided: list[ToolCall] = []

        def decided(call: ToolCall, decision: Decision | None) -> None:
            if decision is None:
                undecided.append(call)
            else:
                turn.decided[id(call)] = decision

        def then(_: None) -> Observable[ChatEvent]:
            if undecided:
                return just(paused(turn, "approval", undecided))
            return self._run(calls)

        asked = approvals.ask(waiting, origin=turn.request.origin, decided=decided)
        # In its turn: a snapshot has what came before, such as refused calls.
        return self._in_turn(asked, just(None).pipe(concat_each(then)))

    def _run(self, calls: Sequence[ToolCall]) -> Observable[ChatEvent]:
        """Run calls as it was decided; those that somebody else runs stay open."""
        turn = self._turn
        done = [carried_out(turn, call, self._report(call)) for call in calls]
        answered = [each for each in done if isinstance(each, ToolFinished)]
        ready = [each for each in done if isinstance(each, ToolCall)]
        here = [call for call in ready if self._runs_here(call)]
        self._batch_runs = True
        batch = run_batch(
            here,
            turn.tools,
            context=turn.request.context,
            origin=turn.request.origin,
            messages=(*turn.request.messages, turn.response.message),
            executor=self._executor,
            settings=self._settings,
        )
        return self._in_turn(just(*answered), batch) if answered else batch

    def _can_run(self, call: ToolCall) -> bool:
        """Whether anybody could run it; if not, the batch says why not."""
        if call.truncated:
            return False
        if isinstance(self._turn.tools.get(call.name), Withheld | None):
            return False
        try:
            parse_arguments(call.arguments)
        except ArgumentsError:
            return False
        return True

    def _runs_here(self, call: ToolCall) -> bool:
        return is_tool(self._turn.tools.get(call.name)) or not self._can_run(call)

    def _after_batch(self) -> Observable[ChatEvent]:
        turn = self._turn
        for call in turn.open_calls:
            if self._runs_here(call):
                raise ToolError(
                    call.name,
                    f"has no result for the call {call.id!r}: the executor completed "
                    "without one; it must answer each call that it is given",
                )
        turn.fold_state()
        failed = turn.failed_calls()
        if failed and self._pauses_on_environment():
            return just(paused(turn, "environment", failed))
        if elsewhere := turn.open_calls:
            return just(paused(turn, "client", elsewhere))
        if self._breach is not None:
            return just(turn.limited(self._breach.limit))
        if (direct := turn.returned_direct()) is not None:
            return just(*direct)
        breach = self._turn_limit(one_more=True)
        if breach is None:
            turn.next_round()
            return self.ask()
        match self._limits.reaction(breach.limit):
            case "raise":
                raise self._limit_error(breach)
            case "finish":
                return just(turn.limited(breach.limit))
            case "tell":
                turn.next_round()
                turn.answer_now()
                self._was_told = True
                return self.ask()

    def _pauses_on_environment(self) -> bool:
        if self._on_environment is None:
            return self._approvals.are_used_for(self._turn.tools.values())
        return self._on_environment == "pause"

    def _turn_limit(self, *, one_more: bool = False) -> Breach | None:
        turn = self._turn
        return turn.watch.of_turn(
            rounds=turn.rounds + one_more, usage=turn.usage, now=self._now()
        )

    @staticmethod
    def _limit_error(breach: Breach) -> LimitError:
        limit = breach.limit
        return LimitError(limit.message, name=limit.name, value=limit.value)

    def _refused(
        self, stopped: Sequence[tuple[ToolCall, Breach]]
    ) -> Observable[ChatEvent]:
        self._batch_runs = True
        return just(
            *(self._report(call).refused(breach.told) for call, breach in stopped)
        )

    def _report(self, call: ToolCall) -> Report:
        origin, most = self._turn.request.origin, self._settings.max_result_chars
        return Report(call=call, origin=origin, max_chars=most)

    @staticmethod
    def _in_turn(*streams: Observable[ChatEvent] | None) -> Observable[ChatEvent]:
        """One stream after the other."""
        there = [each for each in streams if each is not None]
        if len(there) == 1:
            return there[0]
        return just(*there).pipe(concat_each(lambda each: each))
