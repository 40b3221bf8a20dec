"""What the body of a successful response turns out to be, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rxagent.errors import (
    EmptyStreamError,
    MalformedResponseError,
    ModelError,
    TruncatedStreamError,
)
from rxagent.events import ChatEvent

__all__ = ["AnswerFaults", "Opening", "and_raise"]

_BLANK = b"\xef\xbb\xbf \t\r\n"  # a byte order mark too
_EXCERPT = 80  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFaults:
    """The errors of a body that is no answer, or none that is whole.

    Args:
        provider: Named in them.
        content_type: Of the response, in lower case.
    """

    provider: str
    content_type: str

    def empty(self) -> EmptyStreamError:
        """Nothing came."""
        return EmptyStreamError(
            f"{self.provider} answered 200 and then nothing; the generation failed",
            provider=self.provider,
            status=200,
        )

    def truncated(self, where: str) -> TruncatedStreamError:
        """It ended too early; ``where`` is the rest of a sentence."""
        return TruncatedStreamError(
            f"the answer of {self.provider} is cut off: it ended {where}",
            provider=self.provider,
        )

    def malformed(self, data: str) -> MalformedResponseError:
        """``data`` is nothing that the dialect knows."""
        excerpt = data if len(data) <= _EXCERPT else f"{data[:_EXCERPT]}…"
        return MalformedResponseError(
            f"{self.provider} sent what is no chunk of an answer: {excerpt!r}",
            provider=self.provider,
        )

    def no_answer(self, what: str) -> MalformedResponseError:
        """It is ``what``, and so from something else than the provider."""
        return MalformedResponseError(
            f"{self.provider} answered 200 with {what} of type "
            f"{self.content_type or 'unknown'!r}, which is neither an event stream "
            "nor JSON; check base_url",
            provider=self.provider,
            status=200,
        )

    def nothing_begun(self) -> ModelError:
        """An event stream ended, and no answer began in it."""
        if self.content_type and "event-stream" not in self.content_type:
            return self.no_answer("text")
        return self.empty()


class Opening:
    """Find out from the first bytes whether a body is an event stream or JSON.

    A proxy may ignore that a stream was asked for, and send the answer in one piece.
    """

    def __init__(self, faults: AnswerFaults) -> None:
        self._faults = faults
        self._pieces: list[bytes] = []
        self._is_json = False

    def feed(self, item: bytes) -> bytes | None:
        """Take the bytes of one read.

        Returns:
            All bytes so far, once they are known to be an event stream.

        Raises:
            MalformedResponseError: If they are a page.
        """
        self._pieces.append(item)
        start = item.lstrip(_BLANK)[:1]
        if self._is_json or not start:
            return None
        if start in b"{[":
            self._is_json = True
            return None
        if start == b"<" or "html" in self._faults.content_type:
            raise self._faults.no_answer("HTML" if start == b"<" else "text")
        return b"".join(self._pieces)

    def text(self) -> str:
        """Return the whole body, which was no event stream.

        Raises:
            EmptyStreamError: If there is nothing in it.
        """
        body = b"".join(self._pieces)
        if not body.strip(_BLANK):
            raise self._faults.empty()
        return body.decode("utf-8-sig", "replace")


def and_raise(events: list[ChatEvent], error: ModelError) -> Iterable[ChatEvent]:
    """Deliver what was good, and then raise; at once if there is nothing."""
    if not events:
        raise error
    return _then_raise(events, error)


def _then_raise(events: list[ChatEvent], error: ModelError) -> Iterator[ChatEvent]:
    yield from events
    raise error
