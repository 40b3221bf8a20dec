"""The body of a Gemini answer: bytes in, events out."""

from __future__ import annotations

from pydantic_core import from_json

from rxagent.events import ChatEvent
from rxagent.wire.answer_decoder import AnswerDecoder
from rxagent.wire.gemini.chunks import ChunkReader
from rxagent.wire.json_text import is_array, is_object, load_json
from rxagent.wire.provider_errors import error_of_payload
from rxagent.wire.repeated_chunk import RepeatedChunk
from rxagent.wire.sse import SseDecoder, SseEvent

__all__ = ["GeminiDecoder", "piece_in"]

_COUNTS = ("candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")
_PLAIN = {"text", "thought"}  # parts that are text and no more
_MORE = {"finishReason", "finishMessage"}
_DONE = "[DONE]"  # Gemini's own stream just ends, but some gateways send it


class GeminiDecoder(AnswerDecoder[ChunkReader]):
    """Decode an event stream, or JSON: a whole answer, or an array of chunks.

    An array is what Gemini streams where a gateway has dropped ``alt=sse``.

    Args:
        reader: Of the chunks.
        provider: Named in errors.
        content_type: Of the response.  The first bytes overrule it.
    """

    def __init__(
        self, reader: ChunkReader, *, provider: str, content_type: str
    ) -> None:
        super().__init__(
            reader,
            provider=provider,
            content_type=content_type,
            repeated=RepeatedChunk(piece_in, piece=("text",), idle=_COUNTS),
        )
        self._is_over = False
        self._uncounted: bytes | str = ""  # the last repetition, whose counts hold

    def _again(self, piece: str, read: bytes, out: list[ChatEvent]) -> None:
        super()._again(piece, read, out)
        self._uncounted = read

    @property
    def is_over(self) -> bool:
        """Whether ``[DONE]`` came."""
        return self._is_over

    def _event(
        self, event: SseEvent, out: list[ChatEvent], *, at_end: bool = False
    ) -> None:
        if self._is_over:
            return
        if (piece := self._repeated.piece_of(event.data, event.event)) is not None:
            self._reader.again(piece, out)
            self._uncounted = event.data
            return
        self._count()
        self._repeated.forget()
        try:
            chunk: object = from_json(event.data)
        except ValueError:
            chunk = self._unusual(event, at_end=at_end)
            if chunk is None:
                return
        if event.event == "error":
            raise error_of_payload(self._provider, chunk)
        if is_object(chunk):
            before = len(out)
            self._reader.read(chunk, out)
            if len(out) == before + 1 and self._reader.is_plain:
                self._repeated.learn(event.data, chunk, event.event)
        elif event.event == "message":
            raise self._faults.malformed(event.data)

    def _count(self) -> None:
        """Read the counts of the last repetition, of which only the text was read."""
        last, self._uncounted = self._uncounted, ""
        if isinstance(last, bytes):
            [event] = SseDecoder().feed(last)
            last = event.data
        if last:
            self._reader.count(from_json(last))

    def _unusual(self, event: SseEvent, *, at_end: bool) -> object:
        """Data that is no plain JSON; ``None`` if there is nothing to read in it."""
        text = event.data.strip()
        if text == _DONE:
            self._is_over = True
            return None
        if not text or text[0] == ":" or (at_end and _DONE.startswith(text)):
            return None  # a comment that a gateway wrapped up, or half of the end
        try:
            return self._halved(text)
        except ValueError:
            pass
        if event.event == "error":
            return text
        if event.event != "message":
            return None
        if at_end:
            raise self._faults.truncated("within an event")
        raise self._faults.malformed(text)

    def _halved(self, text: str) -> object:
        """JSON with halves of surrogate pairs in it, if that is all that is unusual.

        Raises:
            ValueError: If it is no JSON.
        """
        value = load_json(text)
        self._reader.expect_surrogates()
        return value

    def _whole(self, text: str, out: list[ChatEvent]) -> None:
        """Read a body that is one JSON object, or an array of chunks."""
        try:
            answer: object = from_json(text)
        except ValueError as error:
            if str(error).startswith("EOF"):
                raise self._faults.truncated("within its JSON") from None
            try:
                answer = self._halved(text)
            except ValueError:
                raise self._faults.malformed(text) from None
        for chunk in answer if is_array(answer) else [answer]:
            if not is_object(chunk):
                raise self._faults.malformed(text)
            self._reader.read(chunk, out)
        if not self._reader.has_begun:
            counted = self._reader.usage()  # then it is an answer, without candidates
            raise self._faults.empty() if counted else self._faults.malformed(text)

    def _check_end(self, sse: SseDecoder) -> None:
        """Whether the stream ended where an answer ends."""
        self._count()
        self._check_stray(sse.stray)
        if not self._reader.has_begun:
            raise self._faults.nothing_begun()
        if not (self._is_over or self._reader.finish_reason):
            raise self._faults.truncated("with neither a finish reason nor [DONE]")

    def _check_stray(self, lines: bytes) -> None:
        """Behind an answer that has begun, Gemini writes an error without ``data:``."""
        try:
            payload = load_json(lines.decode("utf-8", "replace"))
        except ValueError:
            return  # there are none, or they say nothing
        first = payload[0] if is_array(payload) and payload else payload
        if is_object(first) and first.get("error"):
            raise error_of_payload(self._provider, first)


def piece_in(chunk: dict[str, object]) -> str | None:
    """The text or the thought of a chunk; ``None`` if it says anything else."""
    candidate = _only(chunk.get("candidates"))
    content = candidate.get("content")
    part = _only(content.get("parts")) if is_object(content) else {}
    more = part.keys() - _PLAIN or candidate.keys() & _MORE
    if more or chunk.get("error") or chunk.get("promptFeedback"):
        return None
    text = part.get("text")
    return text if isinstance(text, str) else None


def _only(items: object) -> dict[str, object]:
    """The object that is alone in an array; empty if there is none."""
    only = items[0] if is_array(items) and len(items) == 1 else None
    return only if is_object(only) else {}
