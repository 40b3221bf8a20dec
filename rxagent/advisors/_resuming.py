from __future__ import annotations

from collections.abc import Mapping

from rxagent.advisors._resumption import RESUME, Resumption
from rxagent.context import Context
from rxagent.decisions import Decision
from rxagent.requests import ChatRequest
from rxagent.snapshots import Snapshot


def resuming(
    snapshot: Snapshot, decisions: Mapping[str, Decision] | None = None
) -> ChatRequest:
    """Make a prompt of a paused turn: an agent that is asked it goes on, once.

    Args:
        snapshot: Of a response with ``finish_reason="paused"``.
        decisions: By the ids of the calls that wait, and of those about which the
            snapshot keeps another decision.  ``Approve`` runs a call, or runs it again
            where the environment failed; ``Reject`` and ``Reply`` answer it.  Where the
            environment failed, no decision leaves the error to the model.

    Returns:
        A request, for ``agent.stream``, ``agent.entity`` and all others that take a
        prompt.
    """
    resumption = Resumption(snapshot, {} if decisions is None else decisions)
    return ChatRequest(
        messages=snapshot.messages, context=Context({RESUME.name: resumption})
    )
