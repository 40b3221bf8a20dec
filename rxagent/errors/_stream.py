"""A stream could not be carried to where it is read."""

from __future__ import annotations

from rxagent.errors._root import RxAgentError

__all__ = [
    "BufferOverflowError",
    "NoItemsError",
    "RetractedError",
    "StreamCancelledError",
    "StreamError",
]


class StreamError(RxAgentError):
    """A stream could not be carried from where it runs to where it is read."""


class NoItemsError(StreamError, LookupError):
    """A stream completed without the item that was awaited."""


class BufferOverflowError(StreamError):
    """A reader is too slow for a source that does not pause.

    Args:
        unread: Items that waited.
    """

    def __init__(self, unread: int) -> None:
        super().__init__(
            f"{unread} items are unread and no more may wait; "
            "read faster, raise maxsize, or choose overflow='drop_oldest'"
        )
        self.unread = unread


class RetractedError(StreamError):
    """Text that was delivered is void, and this stream has no way to take it back.

    Args:
        reason: Of the event ``Retracted``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the text that was delivered is void ({reason}); where that may happen, "
            "read the events, or take collect_text(), whose last text is the right one"
        )
        self.reason = reason


class StreamCancelledError(StreamError):
    """Somebody else cancelled the task of a stream."""
