from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import reactivex
from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import GuardError
from rxagent.events import ChatEvent, Finished, RoundFinished, TextDelta
from rxagent.guards import guard
from rxagent.guards._own import OwnGuard, text_guard
from rxagent.messages import AssistantMessage, UserMessage
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.testing._cut_anywhere import every_cut
from rxagent.types import Transducer

__all__ = ["assert_guard_laws"]

_TEXT = "Write to ann@example.org or call 555-0100.\n\nDéjà vu 👍 第一句。End"
_RESPONSE = ChatResponse(message=AssistantMessage.of(_TEXT))


def assert_guard_laws(
    own: OwnGuard, text: str = _TEXT, *, is_cut_independent: bool = True
) -> None:
    """Check a text guard: it is fresh, and flushes once, at the end and never else.

    Over every way to cut ``text``: what is held leaves before `RoundFinished` and
    `Finished`, once; each answer, each round and each subscription has a state of its
    own; an error and a disposal flush nothing; what is done is fed no more; what it
    raises is a `GuardError`, and nothing follows; the response stays as it was.

    Args:
        own: In any form that `guard` takes; a deterministic one.
        text: What the model says.
        is_cut_independent: What comes out, joined, is the same for every cut.
    """
    whole: str | None = None
    for pieces in every_cut(text):
        run = _Run.of(own, pieces)
        if is_cut_independent and not run.is_stopped:
            said = "".join(run.texts)
            assert whole in (None, said), (
                f"cut into {list(pieces)}, it gave {said!r}; cut otherwise, {whole!r}"
            )
            whole = said
        _assert_flushes_before_the_end(own, pieces, run)
    _assert_drops_on_error(own, tuple(text))
    _assert_drops_when_left(own, tuple(text))


@dataclass(slots=True, kw_only=True)
class _Run:
    """What a transducer does with pieces of text, without a stream."""

    fed: list[list[str]] = field(default_factory=list[list[str]])
    flushed: list[str] = field(default_factory=list[str])
    is_stopped: bool = False

    @classmethod
    def of(cls, own: OwnGuard, pieces: Iterable[str]) -> _Run:
        run = cls()
        try:
            transducer = text_guard(own)()
            for piece in pieces:
                is_done = getattr(transducer, "is_done", False)
                run.fed.append([] if is_done else list(transducer.feed(piece)))
            run.flushed = list(transducer.flush())
        except Exception:  # noqa: BLE001 - whatever it raises
            run.is_stopped = True
        return run

    @property
    def texts(self) -> list[str]:
        return [text for texts in (*self.fed, self.flushed) for text in texts]


class _Watched:
    """A guard that counts what is done with its transducers."""

    def __init__(self, own: OwnGuard) -> None:
        self._make = text_guard(own)
        self.made = 0
        self.flushes = 0

    def __call__(self) -> Transducer[str, str]:
        self.made += 1
        return _WatchedTransducer(self._make(), self._flushed)

    def _flushed(self) -> None:
        self.flushes += 1


class _WatchedTransducer:
    def __init__(
        self, transducer: Transducer[str, str], flushed: Callable[[], None]
    ) -> None:
        self._transducer = transducer
        self._flushed = flushed

    def __getattr__(self, name: str) -> object:  # what it tells of itself
        return getattr(self._transducer, name)

    def feed(self, text: str, /) -> Iterable[str]:
        assert not getattr(self._transducer, "is_done", False), (
            "it was done, and is fed"
        )
        return self._transducer.feed(text)

    def flush(self) -> Iterable[str]:
        self._flushed()
        return self._transducer.flush()


def _answer(guards: OwnGuard, events: Observable[ChatEvent]) -> Observable[ChatEvent]:
    exchange = guard(guards)(lambda requests: events)
    request = ChatRequest(messages=(UserMessage.of("hello"),))
    return just(request).pipe(exchange)


def _seen(answer: Observable[ChatEvent]) -> tuple[list[ChatEvent], list[object]]:
    """What an answer gives, and how it ends."""
    events: list[ChatEvent] = []
    ends: list[object] = []
    answer.subscribe(events.append, ends.append, lambda: ends.append("completed"))
    return events, ends


def _deltas(texts: Iterable[str]) -> list[ChatEvent]:
    return [TextDelta(text=text) for text in texts]


def _assert_flushes_before_the_end(
    own: OwnGuard, pieces: Sequence[str], run: _Run
) -> None:
    pieced = _deltas(pieces)
    round_end, end = RoundFinished(response=_RESPONSE), Finished(response=_RESPONSE)
    watched = _Watched(own)
    answer = _answer(watched, just(*pieced, round_end, *pieced, end))
    for number in (1, 2):
        events, ends = _seen(answer)
        if run.is_stopped:
            assert [type(each) for each in ends] == [GuardError], f"it ended: {ends}"
            assert watched.flushes <= number, "after it had raised, it was flushed"
            continue
        assert ends == ["completed"], f"it ended: {ends}"
        said = _deltas(run.texts) if pieces else []
        assert events == [*said, round_end, *said, end], (
            f"cut into {list(pieces)}, two rounds gave {events}; each is {run.texts}"
        )
        assert watched.flushes == watched.made, "each is to be flushed once"


def _assert_drops_on_error(own: OwnGuard, pieces: Sequence[str]) -> None:
    broken = OSError("the model broke")
    for count in range(len(pieces) + 1):
        run = _Run.of(own, pieces[:count])
        watched = _Watched(own)
        failing = reactivex.concat(
            just(*_deltas(pieces[:count])), reactivex.throw(broken)
        )
        events, ends = _seen(_answer(watched, failing))
        if not run.is_stopped:
            fed = _deltas(text for texts in run.fed for text in texts)
            assert (events, ends) == (fed, [broken]), "an error flushed what was held"
            assert not watched.flushes, "an error flushed what was held"


def _assert_drops_when_left(own: OwnGuard, pieces: Sequence[str]) -> None:
    run = _Run.of(own, pieces)
    if run.is_stopped or not run.fed:
        return
    watched = _Watched(own)
    endless = reactivex.concat(just(*_deltas(pieces)), reactivex.never())
    seen: list[ChatEvent] = []
    subscription = _answer(watched, endless).subscribe(seen.append)
    subscription.dispose()
    fed = _deltas(text for texts in run.fed for text in texts)
    assert seen == fed, "a disposal flushed what was held"
    assert not watched.flushes, "a disposal flushed what was held"
    first, ends = _seen(_answer(own, just(*_deltas(pieces))).pipe(ops.take(1)))
    assert (first, ends) == (_deltas(run.texts)[:1], ["completed"])
