"""The body of an answer of Anthropic: bytes in, events out."""

from __future__ import annotations

from pydantic_core import from_json

from rxagent.events import ChatEvent
from rxagent.wire.answer_decoder import AnswerDecoder
from rxagent.wire.anthropic.events import EventReader
from rxagent.wire.json_text import is_object, load_json
from rxagent.wire.provider_errors import error_of_payload, reported_error
from rxagent.wire.repeated_chunk import RepeatedChunk
from rxagent.wire.sse import SseDecoder, SseEvent

__all__ = ["AnthropicDecoder", "piece_in"]

_DONE = "[DONE]"  # of compatible servers, which speak another dialect too
_KNOWN = ("message", "content_block")  # how names of events begin


class AnthropicDecoder(AnswerDecoder[EventReader]):
    """Decode an event stream, or one JSON object where none was asked for.

    Args:
        reader: Of the events.
        provider: Named in errors.
        content_type: Of the response.  The first bytes overrule it.

    Source: https://platform.claude.com/docs/en/build-with-claude/streaming
    """

    def __init__(
        self, reader: EventReader, *, provider: str, content_type: str
    ) -> None:
        super().__init__(
            reader,
            provider=provider,
            content_type=content_type,
            repeated=RepeatedChunk(piece_in, piece=("text", "thinking")),
        )

    @property
    def is_over(self) -> bool:
        """Whether ``message_stop`` came."""
        return self._reader.is_over

    def _event(
        self, event: SseEvent, out: list[ChatEvent], *, at_end: bool = False
    ) -> None:
        if self._reader.is_over:
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
        if event.event == "error":
            raise error_of_payload(self._provider, data)
        if is_object(data):
            before = len(out)
            self._reader.read(data, out, name=event.event)
            if len(out) == before + 1 and self._reader.is_plain:
                self._repeated.learn(event.data, data, event.event)
        elif event.event.startswith(_KNOWN):
            raise self._faults.malformed(event.data)

    def _unusual(self, event: SseEvent, *, at_end: bool) -> object:
        """Data that is no plain JSON; ``None`` if there is nothing to read in it."""
        text = event.data.strip()
        if text == _DONE:
            self._reader.is_over = self._reader.has_begun
            return None
        if not text or text[0] == ":":
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
        if not event.event.startswith(_KNOWN):
            return None
        if at_end:
            raise self._faults.truncated("within an event")
        raise self._faults.malformed(text)

    def _whole(self, text: str, out: list[ChatEvent]) -> None:
        """Read a body that is one JSON object."""
        try:
            message: object = from_json(text)
        except ValueError as error:
            if str(error).startswith("EOF"):
                raise self._faults.truncated("within its JSON") from None
            message = self._unusual_whole(text)
        if not is_object(message):
            told = reported_error(self._provider, message)
            raise told or self._faults.malformed(text)
        self._reader.read_whole(message, out)

    def _unusual_whole(self, text: str) -> object:
        try:
            message = load_json(text)
        except ValueError:
            raise self._faults.malformed(text) from None
        self._reader.expect_surrogates()
        return message

    def _check_end(self, sse: SseDecoder) -> None:
        """Whether the stream ended where an answer ends."""
        del sse
        if not self._reader.has_begun:
            raise self._faults.nothing_begun()
        if not (self._reader.is_over or self._reader.stop_reason):
            raise self._faults.truncated("with neither a stop reason nor message_stop")


def piece_in(event: dict[str, object]) -> str | None:
    """The text or the thought of an event; ``None`` if it says anything else."""
    delta = event.get("delta")
    if event.get("type") != "content_block_delta" or not is_object(delta):
        return None
    if event.get("error"):
        return None
    match delta:
        case {"type": "text_delta", "text": str(piece)}:
            return piece
        case {"type": "thinking_delta", "thinking": str(piece)}:
            return piece
        case _:
            return None
