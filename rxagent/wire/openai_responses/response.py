"""The body of a Responses answer: bytes in, events out."""

from __future__ import annotations

from pydantic_core import from_json

from rxagent.events import ChatEvent
from rxagent.wire.answer_decoder import AnswerDecoder
from rxagent.wire.json_text import is_object, load_json
from rxagent.wire.openai_responses.events import EventReader
from rxagent.wire.provider_errors import error_of_payload
from rxagent.wire.repeated_chunk import RepeatedChunk
from rxagent.wire.sse import SseDecoder, SseEvent

__all__ = ["OpenAIResponsesDecoder", "piece_in"]

_DONE = "[DONE]"  # some servers end with it; the answer has ended before
_PIECES = (
    "response.output_text.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.delta",
)
_IDLE = ("sequence_number", "obfuscation")


class OpenAIResponsesDecoder(AnswerDecoder[EventReader]):
    """Decode an event stream, or one JSON object where a stream was not sent.

    Args:
        reader: Of the events.
        provider: Named in errors.
        content_type: Of the response.  The first bytes overrule it.
    """

    def __init__(
        self, reader: EventReader, *, provider: str, content_type: str
    ) -> None:
        super().__init__(
            reader,
            provider=provider,
            content_type=content_type,
            repeated=RepeatedChunk(piece_in, piece=("delta",), idle=_IDLE),
        )
        self._unknown: str | None = None  # the first event that told us nothing

    @property
    def is_over(self) -> bool:
        """Whether ``response.completed`` came, or another end."""
        return self._reader.is_done

    def _event(
        self, event: SseEvent, out: list[ChatEvent], *, at_end: bool = False
    ) -> None:
        if self._reader.is_done:
            return
        if (piece := self._repeated.piece_of(event.data, event.event)) is not None:
            self._reader.again(piece, out)
            return
        self._repeated.forget()
        try:
            data: object = from_json(event.data)
        except ValueError:
            data = self._unusual(event, at_end=at_end)
            if data is None:
                return
        if not is_object(data):
            if event.event == "error":
                raise error_of_payload(self._provider, data)
            if not _is_ours(event):
                return
            raise self._faults.malformed(event.data)
        before = len(out)
        try:
            self._reader.read(data, out, name=event.event)
        except ValueError:
            raise self._faults.malformed(event.data) from None
        if not self._reader.has_begun:
            self._unknown = self._unknown or event.data
        elif len(out) == before + 1 and self._reader.is_plain:
            self._repeated.learn(event.data, data, event.event)

    def _unusual(self, event: SseEvent, *, at_end: bool) -> object:
        """Data that is no plain JSON; ``None`` if there is nothing to read in it."""
        text = event.data.strip()
        if not text or text[0] == ":" or text == _DONE:
            return None  # a comment that a proxy wrapped up
        try:
            data = load_json(text)
        except ValueError:
            pass
        else:
            self._reader.expect_surrogates()
            return data
        if event.event == "error":
            return text
        if not _is_ours(event):
            return None
        if at_end:
            raise self._faults.truncated("within an event")
        raise self._faults.malformed(text)

    def _whole(self, text: str, out: list[ChatEvent]) -> None:
        """Read a body that is one JSON object."""
        try:
            response: object = from_json(text)
        except ValueError as error:
            if str(error).startswith("EOF"):
                raise self._faults.truncated("within its JSON") from None
            response = self._unusual_whole(text)
        if not is_object(response):
            raise error_of_payload(self._provider, response)
        if response.get("object") != "response" and "output" not in response:
            if response.get("error"):
                raise error_of_payload(self._provider, response)
            raise self._faults.malformed(text)
        try:
            self._reader.read_end(response, out)
        except ValueError:
            raise self._faults.malformed(text) from None

    def _unusual_whole(self, text: str) -> object:
        try:
            response = load_json(text)
        except ValueError:
            raise self._faults.malformed(text) from None
        self._reader.expect_surrogates()
        return response

    def _finish(self, out: list[ChatEvent]) -> None:
        try:
            self._reader.finish(out)
        except ValueError as error:  # NaN, which is read and cannot be written
            raise self._faults.malformed(f"an item that is no JSON: {error}") from None

    def _check_end(self, sse: SseDecoder) -> None:
        """Whether the stream ended where an answer ends."""
        del sse
        if self._reader.is_done:
            return
        if self._reader.has_begun:
            raise self._faults.truncated("before response.completed")
        if self._unknown is not None:
            raise self._faults.malformed(self._unknown)
        raise self._faults.nothing_begun()


def _is_ours(event: SseEvent) -> bool:
    """Whether it has to be JSON; a keep-alive by another name may be anything."""
    return event.event == "message" or event.event.startswith("response.")


def piece_in(event: dict[str, object]) -> str | None:
    """The text or the thought of an event; ``None`` if it says anything else."""
    piece = event.get("delta")
    if isinstance(piece, str) and event.get("type") in _PIECES:
        return piece
    return None
