"""How a paused turn comes back into the chain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from rxagent.context import Key
from rxagent.decisions import Approve, Decision, Reject, Reply
from rxagent.errors import RequestError
from rxagent.messages import Audio, File, Image, Text
from rxagent.requests import ChatRequest
from rxagent.snapshots import Snapshot
from rxagent.wire.json_text import dump_json


@dataclass(frozen=True, slots=True)
class Resumption:
    """A paused turn, and what has been decided about its calls, by their ids.

    Args:
        snapshot: Where it has paused.
        decisions: By the ids of the calls.
        runs: Ids of the runs that have gone on with it, one for each that was allowed
            to.  An advisor of such a run that asks again asks anew.

    Raises:
        RequestError: If it is none.
    """

    snapshot: Snapshot
    decisions: Mapping[str, Decision]
    runs: set[str] = field(default_factory=set[str], compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.snapshot, Snapshot):
            raise RequestError(
                f"resume takes a Snapshot, not a {type(self.snapshot).__name__}; "
                "load_snapshot reads one that was saved"
            )
        if not isinstance(self.decisions, Mapping):
            raise RequestError(
                "decisions go by the ids of calls, as in {call_id: Approve()}, and "
                f"this is a {type(self.decisions).__name__}"
            )

    def check(self, tools: Collection[str]) -> None:
        """Refuse decisions that do not fit a paused turn, before it is used up.

        Args:
            tools: Names of those that there are now.

        Raises:
            RequestError: If one is missing, is about another call, or is of a kind that
                makes no sense there; and if a call that would run has no tool any more.
        """
        pending, decided = set(self.snapshot.pending), self.snapshot.decided
        if unknown := sorted(self.decisions.keys() - pending - decided.keys()):
            raise RequestError(
                f"decisions about calls that do not wait: {', '.join(unknown)}; "
                f"these wait: {', '.join(self.snapshot.pending)}"
            )
        missing = [each for each in self.snapshot.pending if each not in self.decisions]
        if missing and self.snapshot.reason != "environment":
            raise RequestError(
                f"no decision about {', '.join(missing)}; "
                "each call that waits needs one"
            )
        kinds = {
            "approval": (Approve, Reject, Reply),
            "environment": (Approve, Reject),
            "client": (Reply, Reject),
        }[self.snapshot.reason]
        for call_id, decision in self.decisions.items():
            check_usable(call_id, decision)
            takes = kinds if call_id in pending else (Approve, Reject, Reply)
            if not isinstance(decision, takes):
                raise RequestError(
                    f"{type(decision).__name__} makes no sense for the call "
                    f"{call_id!r}, which waits because of {self.snapshot.reason!r}; it "
                    "takes " + " or ".join(kind.__name__ for kind in takes)
                )
        self._check_tools(tools)

    def _check_tools(self, tools: Collection[str]) -> None:
        done = {result.tool_call_id for result in self.snapshot.results}
        for call in self.snapshot.message.tool_calls:
            decision = self.decision(call.id)
            runs = decision is None and call.id not in done
            if not (runs or isinstance(decision, Approve)) or call.name in tools:
                continue
            if call.name in self.snapshot.tools:  # else the model has made it up
                raise RequestError(
                    f"the call {call.id!r} needs the tool {call.name!r}, which there "
                    "was when the turn paused, and is not now; give it to the agent.  "
                    "An advisor that adds it has to stand left of tool_loop, or to say "
                    "what it does, with named(offer=...)"
                )

    def decision(self, call_id: str) -> Decision | None:
        """What is decided about a call, now or before the pause."""
        before = self.snapshot.decided.get(call_id)
        now = self.decisions.get(call_id)
        if call_id not in self.snapshot.pending:
            return now or before
        if now == Approve():
            return before or now  # it runs again as it ran, with edited arguments too
        return now


RESUME = Key("rxagent.resume", Resumption)
"""With which `Agent.resume` comes in."""


def resumption_of(request: ChatRequest) -> Resumption | None:
    """The paused turn to go on with; ``None`` if the run of ``request`` has done so."""
    resumption = request.context.get(RESUME)
    if resumption is None or request.origin.run_id in resumption.runs:
        return None
    return resumption


def check_usable(call_id: str, decision: Decision) -> None:
    """Refuse a decision that fails later: it would have used up the pause.

    Raises:
        RequestError: If JSON, or a message, cannot hold what it says.
    """
    try:
        if isinstance(decision, Approve) and decision.arguments is not None:
            dump_json(dict(decision.arguments))
        if isinstance(decision, Reply):
            _check_parts(decision.content)
    except (TypeError, ValueError) as error:
        raise RequestError(
            f"the decision about the call {call_id!r} cannot be used: {error}"
        ) from None


def _check_parts(content: Iterable[object]) -> None:
    for part in content:  # of a text, its letters
        if not isinstance(part, str | Text | Image | Audio | File):
            raise TypeError(f"{part!r} is no part of a message")
