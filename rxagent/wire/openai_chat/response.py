"""The body of an OpenAI-compatible answer: bytes in, events out."""

from __future__ import annotations

from pydantic_core import from_json

from rxagent.events import ChatEvent
from rxagent.wire.answer_decoder import AnswerDecoder
from rxagent.wire.json_text import is_array, is_object, load_json
from rxagent.wire.openai_chat.chunks import ChunkReader
from rxagent.wire.provider_errors import error_of_payload, reported_error
from rxagent.wire.repeated_chunk import RepeatedChunk
from rxagent.wire.sse import SseDecoder, SseEvent

__all__ = ["OpenAIChatDecoder", "piece_in"]

_DONE = "[DONE]"
_PIECES = ("content", "reasoning_content", "reasoning")


class OpenAIChatDecoder(AnswerDecoder[ChunkReader]):
    """Decode an event stream, or one JSON object where a proxy ignored ``stream``.

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
            repeated=RepeatedChunk(piece_in, piece=_PIECES, idle=("obfuscation",)),
        )
        self._is_over = False

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
            return
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

    def _unusual(self, event: SseEvent, *, at_end: bool) -> object:
        """Data that is no plain JSON; ``None`` if there is nothing to read in it."""
        text = event.data.strip()
        if text == _DONE:
            self._is_over = True
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
            raise self._faults.truncated("within an event")
        raise self._faults.malformed(text)

    def _whole(self, text: str, out: list[ChatEvent]) -> None:
        """Read a body that is one JSON object."""
        try:
            completion: object = from_json(text)
        except ValueError as error:
            if str(error).startswith("EOF"):
                raise self._faults.truncated("within its JSON") from None
            completion = self._unusual_whole(text)
        if not is_object(completion):
            told = reported_error(self._provider, completion)
            raise told or self._faults.malformed(text)
        self._reader.read(completion, out, whole=True)
        if not self._reader.has_begun:
            raise self._faults.malformed(text)

    def _unusual_whole(self, text: str) -> object:
        try:
            completion = load_json(text)
        except ValueError:
            raise self._faults.malformed(text) from None
        self._reader.expect_surrogates()
        return completion

    def _check_end(self, sse: SseDecoder) -> None:
        """Whether the stream ended where an answer ends."""
        del sse
        if not self._reader.has_begun:
            raise self._faults.nothing_begun()
        if not (self._is_over or self._reader.finish_reason):
            raise self._faults.truncated("with neither a finish reason nor [DONE]")


def piece_in(chunk: dict[str, object]) -> str | None:
    """The text or the thought of a chunk; ``None`` if it says anything else."""
    choices = chunk.get("choices")
    if not is_array(choices) or len(choices) != 1 or not is_object(choices[0]):
        return None
    choice = choices[0]
    delta = choice.get("delta")
    if not is_object(delta) or choice.get("index") or choice.get("finish_reason"):
        return None
    if chunk.get("usage") or "x_groq" in chunk or chunk.get("error"):
        return None
    said = [name for name, value in delta.items() if value and name != "role"]
    piece = delta[said[0]] if len(said) == 1 and said[0] in _PIECES else None
    return piece if isinstance(piece, str) else None
