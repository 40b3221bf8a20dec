from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.testing import TestScheduler

from rxagent.caching import AnswerStore, KeptAnswer
from rxagent.messages import AssistantMessage
from rxagent.testing._hard_to_keep import EVERY_KIND
from rxagent.testing._store_case import one, same

__all__ = ["assert_answer_store_contract"]

T = TypeVar("T")


def assert_answer_store_contract(make: Callable[[int], AnswerStore]) -> None:
    """Check what `AnswerStore` promises, on stores of yours.

    It blocks.

    Args:
        make: Makes an empty store that keeps so many answers.

    Raises:
        AssertionError: If a promise is not kept; says which.
    """
    for check in _CHECKS:
        check(make)


def _an_answer_comes_back_whole(make: Callable[[int], AnswerStore]) -> None:
    store = make(9)
    for number, message in enumerate(EVERY_KIND):
        if not isinstance(message, AssistantMessage):
            continue
        answer = KeptAnswer(
            message=message,
            delivered=(("reasoning", "hm"), ("text", "a\ud83d"), ("text", "\0")),
            finish_reason_raw="STOP",
            model="m",
            id="i",
        )
        key = f"{number:064x}"
        same("what a key has before", one(store.get(key)), None)
        same("what had to go", one(store.put(key, answer, ttl_s=None)), ())
        for _ in range(2):
            found = one(store.get(key))
            same("the answer", found, answer)
            assert found is not None
            same("the id of the message", found.message.id, message.id)


def _the_last_one_counts(make: Callable[[int], AnswerStore]) -> None:
    store = make(9)
    for text in "ab":
        same("what had to go", one(store.put("k", _answer(text), ttl_s=None)), ())
    same("the answer", _text(store, "k"), "b")


def _nothing_happens_before_it_is_subscribed_to(
    make: Callable[[int], AnswerStore],
) -> None:
    store = make(9)
    put = store.put("k", _answer("a"), ttl_s=None)
    store.clear()
    same("an answer that was not put", one(store.get("k")), None)
    one(put)
    same("the answer", _text(store, "k"), "a")


def _time_is_the_schedulers(make: Callable[[int], AnswerStore]) -> None:
    store, clock = make(9), TestScheduler()

    def at(when_s: float, source: Observable[T]) -> T:
        clock.advance_to(when_s)
        return one(_by(clock, source))

    at(100, store.put("short", _answer("a"), ttl_s=10))
    at(100, store.put("long", _answer("b"), ttl_s=None))
    assert at(109.5, store.get("short")) is not None, "it was forgotten too soon"
    same("an answer whose time is over", at(110, store.get("short")), None)
    at(110, store.put("short", _answer("c"), ttl_s=10))
    found = at(119, store.get("short"))
    same("an answer that was put again", found and found.message.text, "c")
    found = at(1e9, store.get("long"))
    same("an answer without an end", found and found.message.text, "b")


def _the_one_that_was_not_looked_up_for_longest_has_to_go(
    make: Callable[[int], AnswerStore],
) -> None:
    store = make(2)
    for name in "ab":
        one(store.put(name, _answer(name), ttl_s=None))
    one(store.get("a"))
    same("what had to go", one(store.put("c", _answer("c"), ttl_s=None)), ("b",))
    same("what is left", [_text(store, each) for each in "abc"], ["a", None, "c"])
    one(store.put("a", _answer("A"), ttl_s=None))
    same("what had to go", one(store.put("d", _answer("d"), ttl_s=None)), ("c",))


def _clear_forgets_everything(make: Callable[[int], AnswerStore]) -> None:
    store = make(9)
    for name in "ab":
        one(store.put(name, _answer(name), ttl_s=None))
    same("how many there were", one(store.clear()), 2)
    same("what is left", [_text(store, each) for each in "ab"], [None, None])
    same("how many there were", one(store.clear()), 0)


_CHECKS = (
    _an_answer_comes_back_whole,
    _the_last_one_counts,
    _nothing_happens_before_it_is_subscribed_to,
    _time_is_the_schedulers,
    _the_one_that_was_not_looked_up_for_longest_has_to_go,
    _clear_forgets_everything,
)


def _answer(text: str) -> KeptAnswer:
    return KeptAnswer(message=AssistantMessage.of(text))


def _text(store: AnswerStore, key: str) -> str | None:
    found = one(store.get(key))
    return None if found is None else found.message.text


def _by(clock: abc.SchedulerBase, source: Observable[T]) -> Observable[T]:
    """The same, on another clock than that of whoever subscribes."""

    def subscribe(
        observer: abc.ObserverBase[T], _: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        return source.subscribe(observer, scheduler=clock)

    return Observable(subscribe)
