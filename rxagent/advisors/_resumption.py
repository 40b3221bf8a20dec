"""How a paused turn comes back into the chain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rxagent.context import Key
from rxagent.decisions import Approve, Decision, Reject, Reply
from rxagent.errors import RequestError
from rxagent.messages import ToolCall, ToolMessage
from rxagent.snapshots import Snapshot
from rxagent.wire.json_text import dump_json


@dataclass(frozen=True, slots=True)
class Resumption:
    """A paused turn, and what has been decided about its calls, by their ids."""

    snapshot: Snapshot
    decisions: Mapping[str, Decision]

    def check(self) -> None:
        """Refuse decisions that do not fit a paused turn.

        Raises:
            RequestError: If one is missing, is about another call, or is of a kind that
                makes no sense there.
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


def check_usable(call_id: str, decision: Decision) -> None:
    """Refuse a decision that fails later: it would have used up the pause.

    Raises:
        RequestError: If JSON, or a message, cannot hold what it says.
    """
    try:
        if isinstance(decision, Approve) and decision.arguments is not None:
            dump_json(dict(decision.arguments))
        if isinstance(decision, Reply) and not isinstance(decision.content, str):
            ToolMessage.of(*decision.content, call=ToolCall(id=call_id, name=""))
    except (TypeError, ValueError) as error:
        raise RequestError(
            f"the decision about the call {call_id!r} cannot be used: {error}"
        ) from None
