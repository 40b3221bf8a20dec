"""The body of an answer of Ollama: bytes in, events out."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic_core import from_json

from rxagent.errors import ModelError
from rxagent.events import ChatEvent
from rxagent.wire.answer_body import AnswerFaults, and_raise
from rxagent.wire.json_text import is_object, load_json
from rxagent.wire.ndjson import NdjsonDecoder
from rxagent.wire.ollama.lines import LineReader
from rxagent.wire.provider_errors import reported_error
from rxagent.wire.repeated_chunk import RepeatedChunk

__all__ = ["OllamaDecoder", "piece_in"]

_DATA = "data:"
_PIECES = ("content", "thinking")


class OllamaDecoder:
    """Decode a stream of JSON lines, or the one JSON object of a whole answer.

    `feed` and `flush` return what an error lets be delivered, and then raise it: while
    they are iterated, or at once if there is nothing to deliver before.  After an error
    neither may be called again.

    Args:
        reader: Of the lines.
        faults: What may be wrong with the body.
    """

    def __init__(self, reader: LineReader, *, faults: AnswerFaults) -> None:
        self._reader = reader
        self._faults = faults
        self._lines = NdjsonDecoder()
        self._pieces: list[str] = []  # of one object on several lines
        self._last = ""
        self._repeated = RepeatedChunk(piece_in, piece=_PIECES, idle=("created_at",))

    @property
    def is_over(self) -> bool:
        """Whether a line came that is done."""
        return self._reader.is_done

    def feed(self, item: bytes, /) -> Iterable[ChatEvent]:
        """Take the bytes of one read.

        Raises:
            ModelError: If the provider reports an error, or sends what it should not.
        """
        out: list[ChatEvent] = []
        try:
            if (piece := self._repeated.piece_of_read(item)) is not None:
                self._reader.again(piece, out)  # the common case
                return out
            for line in self._lines.feed(item):
                self._line(line, out)
            self._repeated.learn_read(item, alone=self._lines.is_alone)
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
            for line in self._lines.flush():
                self._line(line, out, at_end=True)
            if self._pieces:
                self._rest("\n".join(self._pieces), out)
            self._check_end()
            self._reader.finish(out)
        except ModelError as error:
            return self._and_raise(out, error)
        return out

    def note_progress(self, error: ModelError) -> None:
        """Keep in ``error`` what came before it: the text, and what it cost."""
        error.text = self._reader.text()
        error.usage = self._reader.usage()

    def _and_raise(
        self, out: list[ChatEvent], error: ModelError
    ) -> Iterable[ChatEvent]:
        self.note_progress(error)
        return and_raise(out, error)

    def _line(self, line: str, out: list[ChatEvent], *, at_end: bool = False) -> None:
        if self._reader.is_done:
            return
        if self._pieces:
            self._pieces.append(line)
            return
        if (piece := self._repeated.piece_of(line)) is not None:
            self._reader.again(piece, out)
            return
        self._repeated.forget()
        try:
            value: object = from_json(line)
        except ValueError as error:
            # A proxy may have laid out the object of a whole answer on many lines.
            if _is_cut(error) and (at_end or not self._reader.has_begun):
                self._pieces.append(line)
                return
            value = self._unusual(line)
        self._value(value, line, out)

    def _rest(self, text: str, out: list[ChatEvent]) -> None:
        """Read what was no JSON until the end had come, if it is now."""
        try:
            value: object = from_json(text)
        except ValueError as error:
            if _is_cut(error):
                raise self._faults.truncated("within its JSON") from None
            value = self._unusual(text)
        self._value(value, text, out)

    def _value(self, value: object, text: str, out: list[ChatEvent]) -> None:
        if not is_object(value):
            error = reported_error(self._faults.provider, value)
            raise error or self._faults.malformed(text)
        self._last = text
        before = len(out)
        self._reader.read(value, out)
        if len(out) == before + 1 and self._reader.is_plain:
            self._repeated.learn(text, value)

    def _unusual(self, text: str) -> object:
        """JSON with halves of surrogate pairs, an error, or no JSON at all."""
        try:
            # A gateway may put its errors into an event stream.
            value = load_json(text.removeprefix(_DATA))
        except ValueError:
            if not self._last and text.startswith("<"):
                raise self._faults.no_answer("HTML") from None
            raise self._faults.malformed(text) from None
        if text.startswith(_DATA):
            error = reported_error(self._faults.provider, value)
            raise error or self._faults.malformed(text)
        self._reader.expect_surrogates()
        return value

    def _check_end(self) -> None:
        """Whether the stream ended where an answer ends."""
        if self._reader.is_done:
            return
        if self._reader.has_begun:
            raise self._faults.truncated("without a line that is done")
        raise self._faults.malformed(self._last) if self._last else self._faults.empty()


def _is_cut(error: ValueError) -> bool:
    """Whether JSON is good as far as it goes."""
    return str(error).startswith("EOF")


def piece_in(line: dict[str, object]) -> str | None:
    """The text or the thought of a line; ``None`` if it says anything else."""
    message = line.get("message")
    if not is_object(message) or line.get("done") is True or line.get("error"):
        return None
    said = [name for name, value in message.items() if value and name != "role"]
    piece = message[said[0]] if len(said) == 1 and said[0] in _PIECES else None
    return piece if isinstance(piece, str) else None
