from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from reactivex import Observable

from rxagent.errors import ConflictError, StoreError
from rxagent.history import dump_messages, load_messages
from rxagent.memory import Conversation, ConversationStore
from rxagent.messages import UserMessage
from rxagent.testing._hard_to_keep import EVERY_KIND, HALF_PAIRS, NO_IDS, STRANGE_IDS
from rxagent.testing._store_at_once import (
    any_loop_will_do,
    disposed_is_whole_or_nothing,
    one_of_several_wins,
    writers_at_once_lose_nothing,
)
from rxagent.testing._store_case import Case, one, same, texts, turn

__all__ = ["assert_store_contract"]


def assert_store_contract(store: ConversationStore) -> None:
    """Check what `ConversationStore` promises, on a store of yours.

    It writes conversations whose ids start with a new random prefix, and deletes them
    again; others are neither read nor written.  It blocks, and uses threads.

    Args:
        store: Open; others may use it meanwhile.

    Raises:
        AssertionError: If a promise is not kept; says which.
    """
    for check in _CHECKS:
        case = Case(store)
        try:
            check(case)
        finally:
            case.clear()


def _every_message_comes_back(case: Case) -> None:
    which = case.new_id()
    one(case.store.append(which, EVERY_KIND))
    found = one(case.store.load(which)).messages
    same("the messages that came back", found, EVERY_KIND)
    for wrote, read in zip(EVERY_KIND, found, strict=True):
        same("the id of a message", read.id, wrote.id)
        same("the mark of a message", read.mark, wrote.mark)


def _half_a_pair_is_kept_or_marked(case: Case) -> None:
    which = case.new_id()
    one(case.store.append(which, HALF_PAIRS))
    found = one(case.store.load(which)).messages
    plain = load_messages(dump_messages(HALF_PAIRS))
    same("half of a pair", load_messages(dump_messages(found)), plain)


def _what_is_not_there_is_empty(case: Case) -> None:
    which = case.new_id()
    for _ in range(2):
        found = one(case.store.load(which))
        same("a conversation that is not there", found, Conversation(id=which))
    for expected in (None, 7):
        source = case.store.append(which, [], expected_version=expected)
        same("the version after nothing was written", one(source), 0)
    same("what delete found", one(case.store.delete(which)), False)
    same("what is listed", case.page(limit=9, after=case.prefix), [])


def _append_goes_behind(case: Case) -> None:
    which = case.new_id()
    for version, name in enumerate("abc", start=1):
        same("the version", one(case.store.append(which, turn(name))), version)
    found = one(case.store.load(which))
    same("the messages", texts(found), ["a?", "a.", "b?", "b.", "c?", "c."])
    same("the version", found.version, 3)
    same("the version", one(case.store.append(which, [])), 3)


def _a_version_is_checked(case: Case) -> None:
    which = case.new_id()
    writes = (case.store.append, case.store.replace)
    for write in writes:
        _fails_at(write(which, turn("x"), expected_version=1), expected=1, found=0)
    one(case.store.append(which, turn("a"), expected_version=0))
    for write in writes:
        for wrong in (0, 2):
            source = write(which, turn("x"), expected_version=wrong)
            _fails_at(source, expected=wrong, found=1)
    one(case.store.replace(which, turn("b"), expected_version=1))
    one(case.store.append(which, turn("c"), expected_version=2))
    found = one(case.store.load(which))
    same("the messages", texts(found), ["b?", "b.", "c?", "c."])
    same("the version", found.version, 3)


def _fails_at(source: Observable[int], *, expected: int, found: int) -> None:
    conflict: ConflictError | None = None
    try:
        one(source)
    except ConflictError as error:
        conflict = error
    assert conflict is not None, f"version {expected} was taken for version {found}"
    seen = conflict.expected, conflict.found
    same("what the conflict says", seen, (expected, found))


def _replace_takes_the_place(case: Case) -> None:
    which = case.new_id()
    same("the version", one(case.store.replace(which, turn("a") + turn("b"))), 1)
    same("the version", one(case.store.replace(which, turn("c"))), 2)
    same("the messages", texts(one(case.store.load(which))), ["c?", "c."])
    same("the version", one(case.store.replace(which, ())), 3)
    emptied = Conversation(id=which, version=3)
    same("what is left", one(case.store.load(which)), emptied)
    same("the version", one(case.store.append(which, turn("d"))), 4)
    same("the messages", texts(one(case.store.load(which))), ["d?", "d."])


def _delete_forgets(case: Case) -> None:
    which, other = case.new_id("a"), case.new_id("ab")
    for each in (which, other):
        one(case.store.append(each, turn("a")))
    same("what delete found", one(case.store.delete(which)), True)
    same("what delete found", one(case.store.delete(which)), False)
    same("what is left", one(case.store.load(which)), Conversation(id=which))
    same("another one", texts(one(case.store.load(other))), ["a?", "a."])
    same("the version", one(case.store.append(which, turn("b"))), 1)
    same("the messages", texts(one(case.store.load(which))), ["b?", "b."])


def _an_id_is_any_text(case: Case) -> None:
    ids = [case.new_id(each) for each in STRANGE_IDS]
    for each in ids:
        one(case.store.append(each, [UserMessage.of(each)], expected_version=0))
    for each in ids:
        found = one(case.store.load(each))
        same("the conversation", (found.id, texts(found)), (each, [each]))
    listed = [info.id for info in case.page(limit=len(ids), after=case.prefix)]
    same("the order of ids, by code points", listed, sorted(ids))
    for each in NO_IDS:
        for write in (case.store.append, case.store.replace):
            _is_refused(write(each, turn("a")))
        for source in (case.store.load(each), case.store.delete(each)):
            _is_refused(source)


def _is_refused(source: Observable[object]) -> None:
    with suppress(StoreError):
        one(source)
        raise AssertionError("it took an id that not every store can keep")


def _conversations_come_in_pages(case: Case) -> None:
    ids = [case.new_id(str(number)) for number in range(5)]
    for count, which in enumerate(ids, start=1):
        for _ in range(count):
            one(case.store.append(which, turn("a")))
    for after, page in ((case.prefix, ids[:2]), (ids[1], ids[2:4])):
        listed = [info.id for info in case.page(limit=2, after=after)]
        same(f"a page of two after {after!r}", listed, page)
    for count, info in enumerate(case.page(limit=5, after=case.prefix), start=1):
        counts = info.messages, info.version
        same("the count of messages, and the version", counts, (2 * count, count))
        same("the offset of a time", info.updated_at.utcoffset(), timedelta(0))


def _an_observable_is_cold(case: Case) -> None:
    which = case.new_id()
    given = list(turn("a"))
    append, load = case.store.append(which, given), case.store.load(which)
    replace, delete = case.store.replace(which, given), case.store.delete(which)
    given.clear()
    before = one(load)
    same("what is there before a subscription", before, Conversation(id=which))
    same("two subscriptions", (one(append), one(append)), (1, 2))
    same("the messages", texts(one(load)), ["a?", "a.", "a?", "a."])
    same("two subscriptions", (one(replace), one(replace)), (3, 4))
    same("the messages", texts(one(load)), ["a?", "a."])
    same("two subscriptions", (one(delete), one(delete)), (True, False))


_CHECKS: tuple[Callable[[Case], None], ...] = (
    _an_observable_is_cold,
    _every_message_comes_back,
    _half_a_pair_is_kept_or_marked,
    _what_is_not_there_is_empty,
    _append_goes_behind,
    _a_version_is_checked,
    _replace_takes_the_place,
    _delete_forgets,
    _an_id_is_any_text,
    _conversations_come_in_pages,
    writers_at_once_lose_nothing,
    one_of_several_wins,
    disposed_is_whole_or_nothing,
    any_loop_will_do,
)
