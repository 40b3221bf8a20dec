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
        pending = set(self.snapshot.pending)
        if unknown := sorted(self.decisions.keys() - pending):
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
            _check_usable(call_id, decision)
            if not isinstance(decision, kinds):
                raise RequestError(
                    f"{type(decision).__name__} makes no sense for the call "
                    f"{call_id!r}, which waits because of {self.snapshot.reason!r}; it "
                    "takes " + " or ".join(kind.__name__ for kind in kinds)
                )


RESUME = Key("rxagent.resume", Resumption)
"""With which `Agent.resume` comes in."""


def _check_usable(call_id: str, decision: Decision) -> None:
    """A decision that fails later would have used up the pause."""
    try:
        if isinstance(decision, Approve) and decision.arguments is not None:
            dump_json(dict(decision.arguments))
        if isinstance(decision, Reply) and not isinstance(decision.content, str):
            ToolMessage.of(*decision.content, call=ToolCall(id=call_id, name=""))
    except (TypeError, ValueError) as error:
        raise RequestError(
            f"the decision about the call {call_id!r} cannot be used: {error}"
        ) from None
