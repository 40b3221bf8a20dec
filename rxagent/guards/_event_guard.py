from __future__ import annotations

from dataclasses import dataclass, field

from rxagent.events import ChatEvent
from rxagent.types import Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class EventGuard:
    """A guard that needs more than text: time, other streams, events of other kinds.

    Args:
        name: Says in errors and in ``describe`` which guard it is.
        operator: Its state is fresh for each subscription; it passes on what it does
            not know, holds back what follows a text that it holds back, and flushes
            before `RoundFinished` and `Finished`.
    """

    name: str
    operator: Operator[ChatEvent, ChatEvent] = field(repr=False)
