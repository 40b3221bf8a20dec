"""The body of an OpenAI-compatible answer: bytes in, events out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic_core import from_json

from rxagent.errors import (
    EmptyStreamError,
    MalformedResponseError,
    ModelError,
    TruncatedStreamError,
)
from rxagent.events import ChatEvent, TextDelta
from rxagent.wire.json_text import is_object, load_json
from rxagent.wire.openai_chat.chunks import ChunkReader
from rxagent.wire.openai_chat.repeated_chunk import RepeatedChunk
from rxagent.wire.provider_errors import error_of_payload
from rxagent.wire.sse import SseDecoder, SseEvent

__all__ = ["OpenAIChatDecoder"]

_DONE = "[DONE]"
_BLANK = b"\xef\xbb\xbf \t\r\n"  # a byte order mark too
_EXCERPT = 80  # characters


class OpenAIChatDecoder:
    """Decode an event stream, or one JSON object where a proxy ignored ``stream``.

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
        self._content_type = content_type
        self._sse: SseDecoder | None = None
        self._pieces: list[bytes] = []  # of a body that is no event stream
        self._is_json = False
        self._is_done = False
        self._repeated = RepeatedChunk()

    def feed(self, item: bytes, /) -> Iterable[ChatEvent]:
        """Take the bytes of one read.

        Raises:
            ModelError: If the provider reports an error, or sends what it should not.
        """
        out: list[ChatEvent] = []
        try:
            if self._sse:
                # The common case: a read is one event that repeats the one before.
                if self._reader.is_plain and self._sse.is_between_events:
                    text = self._repeated.text_of_read(item)
                    if text is not None and not self._is_done:
                        self._reader.text(text, out)
                        return out
                for event in self._sse.feed(item):
                    self._event(event, out)
            else:
                self._begin(item, out)
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
                self._check_end()
            else:
                self._whole(b"".join(self._pieces), out)
            self._reader.finish(out)
        except ModelError as error:
            return self._and_raise(out, error)
        return out

    def _and_raise(
        self, out: list[ChatEvent], error: ModelError
    ) -> Iterable[ChatEvent]:
        error.usage = self._reader.usage()
        if not out:
            raise error
        return _then_raise(out, error)

    def _begin(self, item: bytes, out: list[ChatEvent]) -> None:
        """Find out from the first bytes what the body is."""
        self._pieces.append(item)
        start = item.lstrip(_BLANK)[:1]
        if self._is_json or not start:
            return
        if start in b"{[":
            self._is_json = True
        elif start == b"<" or "html" in self._content_type:
            raise self._no_answer("HTML" if start == b"<" else "text")
        else:
            self._sse = SseDecoder()
            for event in self._sse.feed(b"".join(self._pieces)):
                self._event(event, out)
            self._pieces = []

    def _event(
        self, event: SseEvent, out: list[ChatEvent], *, at_end: bool = False
    ) -> None:
        if self._is_done:
            return
        if self._reader.is_plain and event.event == "message":
            text = self._repeated.text_of(event.data)
            if text is not None:
                self._reader.text(text, out)
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
            before = len(out)
            self._reader.read(chunk, out)
            said_text = len(out) == before + 1 and isinstance(out[before], TextDelta)
            if said_text and self._reader.is_plain:
                self._repeated.learn(event.data, chunk)
        elif event.event == "message":
            raise self._malformed(event.data)

    def _unusual(self, event: SseEvent, *, at_end: bool) -> object:
        """Data that is no plain JSON; ``None`` if there is nothing to read in it."""
        text = event.data.strip()
        if text == _DONE:
            self._is_done = True
            return None
        if not text or text[0] == ":" or (at_end and _DONE.startswith(text)):
            return None  # a comment that a proxy wrapped up, or half of the end
        try:
            chunk = load_json(text)
        except ValueError:
            pass
        else:
            self._reader.expect_surrogates()
            return chunk
        if event.event == "error":
            return text
        if event.event != "message":
            return None
        if at_end:
            raise self._truncated("within an event")
        raise self._malformed(text)

    def _whole(self, body: bytes, out: list[ChatEvent]) -> None:
        """Read a body that is one JSON object."""
        if not body.strip(_BLANK):
            raise self._empty()
        text = body.decode("utf-8-sig", "replace")
        try:
            completion: object = from_json(text)
        except ValueError as error:
            if str(error).startswith("EOF"):
                raise self._truncated("within its JSON") from None
            completion = self._unusual_whole(text)
        if not is_object(completion):
            raise error_of_payload(self._provider, completion)
        self._reader.read(completion, out, whole=True)
        if not self._reader.has_begun:
            raise self._malformed(text)

    def _unusual_whole(self, text: str) -> object:
        try:
            completion = load_json(text)
        except ValueError:
            raise self._malformed(text) from None
        self._reader.expect_surrogates()
        return completion

    def _check_end(self) -> None:
        """Whether the stream ended where an answer ends."""
        if not self._reader.has_begun:
            kind = self._content_type
            if kind and "event-stream" not in kind:
                raise self._no_answer("text")
            raise self._empty()
        if not (self._is_done or self._reader.finish_reason):
            raise self._truncated("with neither a finish reason nor [DONE]")

    def _empty(self) -> EmptyStreamError:
        return EmptyStreamError(
            f"{self._provider} answered 200 and then nothing; the generation failed",
            provider=self._provider,
            status=200,
        )

    def _truncated(self, where: str) -> TruncatedStreamError:
        return TruncatedStreamError(
            f"the answer of {self._provider} is cut off: it ended {where}",
            provider=self._provider,
        )

    def _malformed(self, data: str) -> MalformedResponseError:
        excerpt = data if len(data) <= _EXCERPT else f"{data[:_EXCERPT]}…"
        return MalformedResponseError(
            f"{self._provider} sent what is no chunk of an answer: {excerpt!r}",
            provider=self._provider,
        )

    def _no_answer(self, what: str) -> MalformedResponseError:
        return MalformedResponseError(
            f"{self._provider} answered 200 with {what} of type "
            f"{self._content_type or 'unknown'!r}, which is neither an event stream "
            "nor JSON; check base_url",
            provider=self._provider,
            status=200,
        )


def _then_raise(events: list[ChatEvent], error: ModelError) -> Iterator[ChatEvent]:
    yield from events
    raise error
