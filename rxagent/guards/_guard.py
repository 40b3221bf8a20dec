from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rxagent.chain import after
from rxagent.choices import check_choice
from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent
from rxagent.guards._event_guard import EventGuard
from rxagent.guards._lift import TextLift
from rxagent.guards._text_guard import Channel, TextGuard
from rxagent.named import name_of, named
from rxagent.operators import fuse, transduce
from rxagent.types import Advisor, Operator


def guard(
    *guards: TextGuard | EventGuard,
    channels: Sequence[Channel] = ("text",),
    answer: bool = False,
) -> Advisor:
    """Guard what is delivered of an answer, piece by piece.

    ::

        --q-------------|
        [ guard(first, second) ]          first sees the raw piece, second what it lets
        ----a--b-----(c,F)|               out; c was held, and leaves before F

    Args:
        guards: In this order.  A text guard makes a transducer for each text of each
            model's answer; an `EventGuard` sees the events.
        channels: Which texts the text guards see.
        answer: Rewrite the stored answer, too.

    Returns:
        An advisor.
    """
    if isinstance(channels, str):
        raise ConfigurationError(f"channels takes several words: ({channels!r},)")
    for channel in channels:
        check_choice("channels", channel, Channel)
    if answer:
        raise ConfigurationError("answer=True is not there yet")
    names = ", ".join(_name(each) for each in guards)
    if not guards:
        return named("guard", lambda inner: inner)
    operators = [_operator(each, channels) for each in guards]
    return named("guard", after(fuse(operators)), settings=names)


def _operator(
    each: TextGuard | EventGuard, channels: Sequence[Channel]
) -> Operator[ChatEvent, ChatEvent]:
    if isinstance(each, EventGuard):
        return each.operator
    lift = partial(TextLift, each, name=_name(each), channels=frozenset(channels))
    return transduce(lift)


def _name(each: TextGuard | EventGuard) -> str:
    name: object = getattr(each, "name", None)
    return name if isinstance(name, str) else name_of(each)  # type: ignore[arg-type]
