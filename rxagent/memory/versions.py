"""What every store does with a write: check its version, and note its time."""

from __future__ import annotations

from datetime import UTC, datetime

from reactivex import abc
from reactivex.scheduler.eventloop import AsyncIOScheduler

from rxagent.errors import ConflictError, StoreError

__all__ = ["check_id", "next_version", "write_time"]


def check_id(conversation_id: str) -> None:
    """Refuse an id that some store could not keep.

    Args:
        conversation_id: What the caller named.

    Raises:
        StoreError: If it is empty, or holds NUL or half of a surrogate pair.
    """
    if not conversation_id or "\0" in conversation_id or not _is_utf8(conversation_id):
        raise StoreError(
            "",
            f"cannot keep a conversation as {conversation_id!a}: an id is text that is "
            "not empty and that UTF-8 can say, without NUL; choose another one",
        )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def next_version(conversation_id: str, *, found: int, expected: int | None) -> int:
    """The version that a write makes.

    Args:
        conversation_id: Which conversation is written.
        found: Its version now; 0 if it is not there.
        expected: What the writer takes it to be; ``None`` if that is all the same.

    Returns:
        One more than ``found``.

    Raises:
        ConflictError: If it is at another version.
    """
    if expected is not None and expected != found:
        raise ConflictError(conversation_id, expected=expected, found=found)
    return found + 1


def write_time(scheduler: abc.SchedulerBase | None) -> datetime:
    """The time of a write.

    Args:
        scheduler: What the subscription passed on.

    Returns:
        Its time in UTC, unless it has none to tell: RxPY's loop scheduler counts from
        the start of the machine.
    """
    if scheduler is None or isinstance(scheduler, AsyncIOScheduler):
        return datetime.now(UTC)
    return scheduler.now
