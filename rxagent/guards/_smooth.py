from __future__ import annotations

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, SingleAssignmentDisposable

from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent
from rxagent.guards._event_guard import EventGuard
from rxagent.guards._pace import Pace
from rxagent.operators._clock import running_loop


def smooth(*, chars_per_second: float = 200.0, catch_up_s: float = 0.5) -> EventGuard:
    """Deliver text at an even pace, word by word, however it comes.

    ::

        -a--------b--(F,|)                a = "one two", b = " six", a word takes two
        [ guard(smooth()) ]
        -x--------y--(z,F,|)              x = "one", y = " two", z = " six"

    Nothing is lost, and every other event keeps its place behind the text before it.
    Where the model is faster, text waits; at the end of its answer what waits is
    delivered within ``catch_up_s``.  There is one timer while text waits, at most 25
    times a second, and none for a token.

    Put it last: what is delivered has passed the other guards by then.

    Args:
        chars_per_second: The pace.
        catch_up_s: Longest time by which `RoundFinished`, `Finished` and the completion
            are delayed, in seconds.

    Returns:
        An event guard, on the subscription's scheduler; if there is none, on the
        running loop.  With neither there is no clock, and all leaves as it comes.  An
        error passes at once; it and a disposal drop the text that waits.

    Raises:
        ConfigurationError: At the call, if the pace is not more than 0, or
            ``catch_up_s`` less than 0.
    """
    if not chars_per_second > 0 or not catch_up_s >= 0:
        raise ConfigurationError(
            "smooth takes more than 0 characters per second and no negative time, "
            f"got {chars_per_second} and {catch_up_s}"
        )

    def operator(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            clock = scheduler or running_loop()
            if clock is None:
                return source.subscribe(observer)
            pace = Pace(observer, clock, rate=chars_per_second, catch_up_s=catch_up_s)
            upstream = SingleAssignmentDisposable()
            both = CompositeDisposable(upstream, pace.timer)
            upstream.disposable = source.subscribe(
                pace.on_next, pace.on_error, pace.on_completed, scheduler=scheduler
            )
            return both

        return Observable(subscribe)

    return EventGuard(name="smooth", operator=operator)
