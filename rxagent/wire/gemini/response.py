"""The body of a Gemini answer: bytes in, events out."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic_core import from_json

from rxagent.errors import ModelError
from rxagent.events import ChatEvent
from rxagent.wire.answer_body import AnswerFaults, Opening, and_raise
from rxagent.wire.gemini.chunks import ChunkReader
from rxagent.wire.json_text import is_array, is_object, load_json
from rxagent.wire.provider_errors import error_of_payload
from rxagent.wire.sse import SseDecoder, SseEvent

__all__ = ["GeminiDecoder"]

_DONE = "[DONE]"  # Gemini's own stream just ends, but some gateways send it


class GeminiDecoder:
    """Decode an event stream, or JSON: a whole answer, or an array of chunks.

    An array is what Gemini streams where a gateway has dropped ``alt=sse``.

    `feed` and `flush` return what an error lets be delivered, and then raise it: while
    they are iterated, or at once if there is nothing to deliver before.  After an error
    neither may be called again.

    Args:
        reader: Of the chunks.
        provider: Named in errors.
        content_type: Of the response.  The first bytes overrule it.
    """

    def __init__(
        self, reader: ChunkReader, *, provider: str, content_type: str
    ) -> None:
        self._reader = reader
        self._provider = provider
        self._faults = AnswerFaults(provider=provider, content_type=content_type)
        self._opening = Opening(self._faults)
        self._sse: SseDecoder | None = None
        self._is_done = False

    def feed(self, item: bytes, /) -> Iterable[ChatEvent]:
        """Take the bytes of one read.

        Raises:
            ModelError: If Gemini reports an error, or sends what it should not.
        """
        out: list[ChatEvent] = []
        try:
            if self._sse:
                for event in self._sse.feed(item):
                    self._event(event, out)
            elif (data := self._opening.feed(item)) is not None:
                self._sse = SseDecoder()
                for event in self._sse.feed(data):
                    self._event(event, out)
        except ModelError as error:
            return self._and_raise(out, error)
        return out

    def flush(self) -> Iterable[ChatEvent]:
        """Return what waited and the response.

        Raises:
            ModelError: If the answer is not complete.
        """
        out: list[ChatEvent] = []
        try:
            if self._sse:
                for event in self._sse.flush():
                    self._event(event, out, at_end=True)
                self._check_end(self._sse)
            else:
                self._whole(self._opening.text(), out)
            self._reader.finish(out)
        except ModelError as error:
            return self._and_raise(out, error)
        return out

    def _and_raise(
        self, out: list[ChatEvent], error: ModelError
    ) -> Iterable[ChatEvent]:
        error.usage = self._reader.usage()
        return and_raise(out, error)

    def _event(
        self, event: SseEvent, out: list[ChatEvent], *, at_end: bool = False
    ) -> None:
        if self._is_done:
            return
        try:
            chunk: object = from_json(event.data)
        except ValueError:
            chunk = self._unusual(event, at_end=at_end)
            if chunk is None:
                return
        if event.event == "error":
            raise error_of_payload(self._provider, chunk)
        if is_object(chunk):
            self._reader.read(chunk, out)
        elif event.event == "message":
            raise self._faults.malformed(event.data)

    def _unusual(self, event: SseEvent, *, at_end: bool) -> object:
        """Data that is no plain JSON; ``None`` if there is nothing to read in it."""
        text = event.data.strip()
        if text == _DONE:
            self._is_done = True
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
        self._check_stray(sse.stray)
        if not self._reader.has_begun:
            raise self._faults.nothing_begun()
        if not (self._is_done or self._reader.finish_reason):
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
