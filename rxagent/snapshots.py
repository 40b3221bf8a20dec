"""A paused turn as a value, and who may resume it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path
from typing import Literal, TypeAlias
from uuid import uuid4

from rxagent.decisions import Decision
from rxagent.errors import ConfigurationError, SnapshotError
from rxagent.messages import AssistantMessage, Message, ToolMessage
from rxagent.requests import ChatOptions, Origin
from rxagent.usage import Usage

__all__ = [
    "Claim",
    "PauseReason",
    "Snapshot",
    "claims_in_folder",
    "claims_in_memory",
]

PauseReason: TypeAlias = Literal["approval", "environment", "client"]
"""Calls wait for approval, failed for reasons a person must mend, or run elsewhere."""

Claim: TypeAlias = Callable[[str], bool]
"""Takes the id of a snapshot; true for the first who asks, and for nobody else."""


def _new_id() -> str:
    """Letters and digits that sort by the time when they were made."""
    return f"{time.time_ns():016x}{uuid4().hex}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A turn that waits, as plain data: no code, no client, no secret of the caller.

    Of the context it holds what tools have written, and nothing that the caller passed
    in: pass that again with ``agent.resume``.

    Args:
        reason: Why the turn waits.
        pending: Ids of the calls that need a decision.
        messages: The conversation up to the answer that called, that one not included.
        message: The answer that called.
        decided: What was decided before the pause about calls that are not done, by
            their ids; those are not asked about again.
        results: Of the calls that are done.
        transcript: What the turn has added, that answer included.
        usage: Tokens so far.
        response_id: The provider's id of that answer.
        model: That gave it.
        origin: The run, and the round in which it paused.
        tools: Names of those that the model could call.
        state: What tools have written, by the names of the keys.
        called: How often each tool has been called in this turn, by name.
        repeated: How often each call was made, by tool and arguments.
        cost: What the turn has cost so far.
        options: Of the request; those of the resume win.
        id: One for each pause; begins with its time.
        version: Of this format.

    Raises:
        SnapshotError: If it speaks of calls that its message does not make.
    """

    reason: PauseReason
    pending: tuple[str, ...]
    messages: tuple[Message, ...]
    message: AssistantMessage
    decided: Mapping[str, Decision] = field(default_factory=dict[str, Decision])
    results: tuple[ToolMessage, ...] = ()
    transcript: tuple[Message, ...] = ()
    usage: Usage = field(default_factory=Usage)
    response_id: str | None = None
    model: str | None = None
    origin: Origin = field(default_factory=Origin)
    tools: tuple[str, ...] = ()
    state: Mapping[str, object] = field(
        default_factory=dict[str, object],
        repr=False,  # values may be secrets
    )
    called: Mapping[str, int] = field(default_factory=dict[str, int])
    repeated: Mapping[str, int] = field(default_factory=dict[str, int])
    cost: float = 0.0
    options: ChatOptions = field(default_factory=ChatOptions)
    id: str = field(default_factory=_new_id)
    version: Literal[1] = 1

    def __post_init__(self) -> None:
        made = {call.id for call in self.message.tool_calls}
        results = {result.tool_call_id for result in self.results}
        if unknown := sorted({*self.pending, *self.decided, *results} - made):
            raise SnapshotError(
                "a paused turn is about the calls of its last answer, and that makes "
                f"none with the id {unknown[0]!r}"
            )


def claims_in_memory(*, keep: int = 100_000) -> Claim:
    """Make a claim for one process: each snapshot can be resumed once in it.

    It remembers the youngest ``keep`` that were resumed, at about 150 bytes each.  Ids
    begin with the time of the pause, so what is no younger than one that it has
    forgotten is refused, whether it was resumed or not: nothing is ever resumed twice.

    Args:
        keep: How many; a turn that waits while so many younger ones are resumed cannot
            be resumed any more.

    Returns:
        A claim.  It raises `SnapshotError` for what is too old to tell.

    Raises:
        ConfigurationError: If ``keep`` is less than 1.
    """
    if keep < 1:
        raise ConfigurationError(f"keep must be 1 or more, got {keep}")
    claimed: set[str] = set()
    by_age: list[str] = []  # a heap
    forgotten = ""  # the youngest
    lock = threading.Lock()

    def claim(snapshot_id: str) -> bool:
        nonlocal forgotten
        with lock:
            if snapshot_id in claimed:
                return False
            if snapshot_id <= forgotten:
                raise SnapshotError(
                    f"the paused turn {snapshot_id} is too old to tell whether it has "
                    f"been resumed: {keep} younger ones were; raise keep, or use "
                    "claims_in_folder"
                )
            claimed.add(snapshot_id)
            heappush(by_age, snapshot_id)
            if len(by_age) > keep:
                forgotten = heappop(by_age)
                claimed.remove(forgotten)
        return True

    return claim


def claims_in_folder(folder: str | os.PathLike[str]) -> Claim:
    """Make a claim that holds for every process that sees ``folder``, and later on.

    Args:
        folder: Made if it is not there; gets an empty file for each snapshot.
    """

    def claim(snapshot_id: str) -> bool:
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        if not snapshot_id.isalnum():
            raise SnapshotError(f"{snapshot_id!r} is not the id of a snapshot")
        try:
            (place / snapshot_id).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    return claim
