from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from reactivex import Observable, abc
from reactivex import operators as ops

from rxagent.advisors._approvals import ApprovalPolicy, Approver, OnNoDecision
from rxagent.advisors._call_limits import Cost, LimitWatch, OnLimit, TurnLimits
from rxagent.advisors._pause import resumed
from rxagent.advisors._resumption import RESUME, resumption_of
from rxagent.advisors._rounds import OnEnvironment, Rounds
from rxagent.advisors._turn import Eligible, Turn
from rxagent.chain import around
from rxagent.choices import check_callable, check_choice
from rxagent.errors import FailureKind
from rxagent.events import ChatEvent
from rxagent.named import Order, named
from rxagent.offered import OFFERS, Offers
from rxagent.operators import concat_each, expand_rounds, just
from rxagent.requests import ChatRequest
from rxagent.runtime import LoopScheduler, loop_for
from rxagent.snapshots import Claim, claims_in_memory
from rxagent.tools import CallSettings, Executor, tool_index
from rxagent.tools.executor import check_executor
from rxagent.tools.rules import NeedsApproval, check_approval, check_seconds
from rxagent.types import Advisor, Exchange


def tool_loop(
    *,
    max_rounds: int | None = 10,
    max_calls: int | None = 150,
    max_calls_per_tool: int | Mapping[str, int | None] | None = 40,
    max_identical_calls: int | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    cost: Cost | None = None,
    max_seconds: float | None = None,
    on_limit: OnLimit | Mapping[str, OnLimit] = "finish",
    executor: Executor | None = None,
    max_result_chars: int | None = None,
    failures: Mapping[type[Exception], FailureKind] | None = None,
    raises: tuple[type[Exception], ...] = (),
    eligible: Eligible | None = None,
    needs_approval: NeedsApproval = False,
    approve: Approver | None = None,
    approval_timeout_s: float | None = None,
    on_approval_timeout: OnNoDecision = "reject",
    on_environment: OnEnvironment | None = None,
    claim: Claim | None = None,
) -> Advisor:
    """Run the tools that the model calls and ask it again, until it calls none.

    ::

        --q-------------------|
        [ tool_loop() ]                   inner answers --c-| (a call), then --b--F|;
        ----R-s--p-f-b--F-----|           the tool runs from s to f, and reports p

    It is an expand over the rest of the chain: a round is one more subscription to it,
    with the whole history of the turn.  Advisors left of it see a turn once, right of
    it every round, and may add tools and context.  A call that cannot run (unknown
    tool, broken arguments, a tool that raises) gets a result that says so, and the
    model goes on.

    A turn may pause: for a call that needs approval, if nothing answers ``approve``;
    for a call of a tool that is only declared, which somebody else runs; and for a
    failure of the environment.  It ends with ``finish_reason="paused"`` and a
    ``snapshot``, and goes on with ``agent.resume``.

    A ``tool_choice`` that demands a call holds for the first round.

    Args:
        max_rounds: Model requests whose tools run.
        max_calls: Calls of a turn.
        max_calls_per_tool: Of each tool, or by its name; a tool that is not named, or
            named with ``None``, has no limit of its own.
        max_identical_calls: Of one tool with the same arguments.
        max_tokens: Of all answers of a turn, prompts included.
        max_cost: Of a turn, in the unit of ``cost``.
        cost: What the tokens of one answer cost.
        max_seconds: Of a turn.  Looked at between rounds; tools get what is left as
            their longest time.
        on_limit: What happens then, for all limits or by name: ``"finish"`` ends the
            turn, its results kept, with ``finish_reason="tool_limit"`` and ``limit``;
            ``"raise"`` is a `LimitError`; ``"tell"`` answers the calls that are too
            many with that, and lets the model go on, without tools if the limit is
            one of the turn.
        executor: Runs the calls of a round; by default ``concurrent()``.
        max_result_chars: A longer result is cut for the model, and says so; not that of
            a tool that declares ``return_direct``, whose result is the answer.
        failures: In which way a tool failed, by the type of the exception.
        raises: Exceptions of tools that end the stream, as they are.
        eligible: Whether the calls of a response run; asked once a round.  If not, the
            response is the answer.
        needs_approval: Which calls have to be approved, besides those of tools that
            declare it.
        approve: Asked for each such call, one after the other, before any runs; the
            first decision counts.  Without it the turn pauses.
        approval_timeout_s: Longest wait for a decision, in seconds.
        on_approval_timeout: What happens then.
        on_environment: Whether a failure of the environment pauses the turn, or is told
            to the model; by default it pauses if anything needs approval.
        claim: Lets each snapshot be resumed once; by default within this process, see
            `rxagent.snapshots`.

    Returns:
        An advisor; an agent has at most one that runs tools.  Disposing stops the model
        or the running tools, whichever is at work, and starts nothing more.  An error
        of rxagent's own tree ends the stream with the ``usage`` of the whole turn; what
        its tools wrote into the context ends with it.

    Raises:
        ConfigurationError: If a limit, a time or a word makes no sense.
    """
    limits = TurnLimits(
        max_rounds=max_rounds,
        max_calls=max_calls,
        max_calls_per_tool=max_calls_per_tool,
        max_identical_calls=max_identical_calls,
        max_tokens=max_tokens,
        max_cost=max_cost,
        cost=cost,
        max_seconds=max_seconds,
        on_limit=on_limit,
    )
    check_seconds("approval_timeout_s", approval_timeout_s)
    check_executor(executor)
    functions = {"eligible": eligible, "approve": approve, "cost": cost, "claim": claim}
    for name, given in functions.items():
        check_callable(name, given)
    check_approval(needs_approval)
    if on_environment is not None:
        check_choice("on_environment", on_environment, OnEnvironment)
    approvals = ApprovalPolicy(
        approve=approve,
        needs_approval=needs_approval,
        timeout_s=approval_timeout_s,
        on_timeout=on_approval_timeout,
    )
    settings = CallSettings(
        max_result_chars=max_result_chars, failures=failures or {}, raises=raises
    )
    may_resume = claim or claims_in_memory()

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        def run(clock: abc.SchedulerBase | None) -> Observable[ChatEvent]:
            def now() -> datetime:
                return clock.now if clock else datetime.now(UTC)

            resumption = resumption_of(request)
            offers = request.context.get(OFFERS, Offers())
            context = request.context.without(RESUME).without(OFFERS)
            asked = replace(request, context=context, in_loop=True)
            watch = LimitWatch(
                limits,
                started=now(),
                paused=resumption.snapshot if resumption else None,
            )
            turn = (
                resumed(resumption.snapshot, asked, watch, eligible)
                if resumption
                else Turn(asked, watch, eligible)
            )
            rounds = Rounds(
                turn,
                ask=lambda: just(turn.request).pipe(inner, ops.map(turn.hear)),
                now=now,
                limits=limits,
                approvals=approvals,
                executor=executor,
                settings=replace(settings, deadline=watch.deadline),
                on_environment=on_environment,
            )

            def go_on(offered: ChatRequest) -> Observable[ChatEvent]:
                turn.tools = tool_index(offered.tools)
                assert resumption is not None
                resumed = rounds.resume(resumption, may_resume)
                resumption.runs.add(request.origin.run_id)
                return resumed

            first = (
                offers.of(turn.request).pipe(concat_each(go_on))
                if resumption
                else rounds.ask()
            )
            return first.pipe(
                expand_rounds(_nothing, rounds.hear, rounds.again, failed=turn.charged)
            )

        if max_seconds is None:
            return run(None)

        # Only here does the time matter, and only subscribing tells whose time it is.
        def timed(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            clock = scheduler or LoopScheduler(loop_for(None))
            return run(clock).subscribe(observer, scheduler=scheduler)

        return Observable(timed)

    return named(
        "tool_loop",
        around(handle),
        settings=f"max_rounds={max_rounds}",
        order=Order.TOOL_LOOP,
        owns_tools=True,
    )


def _nothing() -> None:
    return None
