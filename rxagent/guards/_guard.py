from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rxagent.chain import after
from rxagent.choices import check_choice
from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent
from rxagent.guards._answer import AnswerRewriter
from rxagent.guards._event_guard import EventGuard
from rxagent.guards._lift import TextLift
from rxagent.guards._own import OwnGuard, guard_name, text_guard
from rxagent.guards._text_guard import Channel
from rxagent.named import named
from rxagent.operators import fuse, transduce
from rxagent.types import Advisor, Operator


def guard(
    *guards: OwnGuard | EventGuard,
    channels: Sequence[Channel] = ("text",),
    answer: bool = False,
) -> Advisor:
    """Guard what is delivered of an answer, piece by piece.

    ::

        --q|
        [ guard(first, second) ]          the rest answers --a--b--c--(F,|)
        ----a--b-----(c,F,|)              first sees it raw; second holds c to the end

    A text guard sees the texts of each model's answer, as they come: its state is fresh
    for each, also for each round of a tool loop, and it is flushed before
    `RoundFinished` and `Finished`.  An event that comes while text before it is held
    waits behind that text.  An error, a disposal and `Retracted` drop what is held.

    What is guarded is delivery: the response stays what the model said, for memory,
    the tool loop and whoever awaits the answer.  A guard that raises ends the stream
    for all of them, before a tool call of that answer runs.

    One that stops an answer stands right of a memory.  Left of it, it may find only at
    the end what it must not let out, and by then the turn is stored.

    Args:
        guards: In this order.  Each is a text guard, such as ``redact(...)``; one of
            your own: a class with ``feed`` and ``flush``, a generator function, or an
            Rx operator over text; or an `EventGuard`.
        channels: Which texts the text guards see; the arguments of each call are a text
            of their own, as the JSON that the model writes.
        answer: Let the text guards rewrite the response and its transcript, too.
            Reasoning that a provider has signed stays as it is.

    Returns:
        An advisor; without guards, one that does nothing.  An exception of a guard is a
        `GuardError` with its name, caused by it, and the model's stream is cancelled.

    Raises:
        ConfigurationError: If something is no guard, or no channel.
    """
    if isinstance(channels, str):
        raise ConfigurationError(f"channels takes several words: ({channels!r},)")
    for channel in channels:
        check_choice("channels", channel, Channel)
    if not guards:
        return named("guard", lambda inner: inner)
    seen = frozenset(channels)
    operators: list[Operator[ChatEvent, ChatEvent]] = []
    lifts: list[Callable[[], TextLift]] = []
    for each in guards:
        if isinstance(each, EventGuard):
            operators.append(each.operator)
        else:
            name, make = guard_name(each), text_guard(each)
            lifts.append(partial(TextLift, make, name=name, channels=seen))
            operators.append(transduce(lifts[-1]))
    if answer and not lifts:
        raise ConfigurationError("answer=True needs a text guard, and there is none")
    if answer:
        operators.append(transduce(partial(AnswerRewriter, tuple(lifts), seen)))
    names = ", ".join(map(guard_name, guards))
    return named("guard", after(fuse(operators)), settings=names)
