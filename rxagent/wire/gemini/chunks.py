"""What the chunks of a Gemini answer mean, one JSON object at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from pydantic_core import from_json

from rxagent.errors import (
    MalformedResponseError,
    ModelError,
)
from rxagent.events import ChatEvent, Finished, ReasoningDelta, TextDelta
from rxagent.messages import Opaque
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.usage import Usage
from rxagent.wire.assembly import AnswerAssembler
from rxagent.wire.gemini.calls import CallReader
from rxagent.wire.gemini.endings import FAILURES, FINISH_REASONS
from rxagent.wire.gemini.usage import UsageTotals
from rxagent.wire.json_text import dump_json, is_array, is_object
from rxagent.wire.provider_errors import error_of_payload
from rxagent.wire.surrogates import SurrogateJoiner, join_surrogates

__all__ = ["ChunkReader"]

_Channel: TypeAlias = Literal["text", "thought"]

_UNSPECIFIED = "FINISH_REASON_UNSPECIFIED"


class ChunkReader:
    """Make events of chunks, and the response of all of them.

    Only the first candidate is read.

    Args:
        request: What was asked.
        dialect: Named in errors, and the owner of parts that only it understands.
    """

    def __init__(self, request: ChatRequest, *, dialect: str) -> None:
        self._request = request
        self._origin = request.origin
        self._dialect = dialect
        self._answer = AnswerAssembler(request.origin)
        self._usage = UsageTotals()
        self._calls = CallReader(self._answer)
        self._joiner: SurrogateJoiner[_Channel] | None = None
        self._id: str | None = None
        self._model: str | None = None
        self._finish_message: str | None = None
        self._is_blocked = False
        self._kind: type[TextDelta | ReasoningDelta] = TextDelta  # the last
        self.is_plain = True
        """Whether a text needs nothing but to be passed on."""
        self.has_begun = False
        self.finish_reason: str | None = None

    def expect_surrogates(self) -> None:
        """From now on, a string may end or begin with half of a pair."""
        self._joiner = self._joiner or SurrogateJoiner()
        self.is_plain = False

    def read(self, chunk: dict[str, object], out: list[ChatEvent]) -> None:
        """Read a chunk, which may be a whole answer, and append its events to ``out``.

        Raises:
            ModelError: If it reports an error, or is not what it should be.  What was
                good of it has been read before.
        """
        self._id = _word(chunk, "responseId") or self._id
        self._model = _word(chunk, "modelVersion") or self._model
        self.count(chunk)
        if candidates := chunk.get("candidates"):
            self._candidates(candidates, out)
        feedback = chunk.get("promptFeedback")
        if is_object(feedback) and (reason := _word(feedback, "blockReason")):
            self.has_begun = self._is_blocked = True
            self.finish_reason = reason
        if chunk.get("error"):
            raise error_of_payload(self._dialect, chunk)

    def again(self, piece: str, out: list[ChatEvent]) -> None:
        """Take one more piece like the last, which was of a text or a thought."""
        if piece:
            self._answer.again(piece)
            out.append(self._kind(text=piece, origin=self._origin))

    def count(self, chunk: object) -> None:
        """Take the counts of a chunk, if there are any."""
        metadata = chunk.get("usageMetadata") if is_object(chunk) else None
        if is_object(metadata):
            self._usage.take(metadata)

    def finish(self, out: list[ChatEvent]) -> None:
        """Append what waited, and the response of the whole answer.

        Raises:
            ModelError: If the generation failed.
        """
        for channel, text in self._joiner.flush() if self._joiner else ():
            self._append(channel, text, out)
        self._read_calls(self._calls.close, out)
        raw = self.finish_reason
        reason = FINISH_REASONS.get(raw or "", "unknown")
        if self._is_blocked:
            reason = "content_filter"
        cut_off = reason in ("length", "content_filter")
        message = self._answer.message(truncated=cut_off)
        if message.tool_calls and not cut_off:
            reason = "tool_calls"
        elif raw in FAILURES and not self._is_blocked:
            raise self._failure(raw)
        response = ChatResponse(
            message=message,
            finish_reason=reason,
            finish_reason_raw=raw,
            usage=self._usage.usage(),
            model=self._model,
            id=self._id,
            context=self._request.context,
            transcript=(message,),
        )
        out.append(Finished(response=response, origin=self._origin))

    def text(self) -> str:
        """All text that has come so far."""
        return self._answer.text_so_far()

    def usage(self) -> Usage | None:
        """What the answer has cost so far, if Gemini has said so."""
        return self._usage.usage() if self._usage.has_reports else None

    def _candidates(self, candidates: object, out: list[ChatEvent]) -> None:
        if not is_array(candidates):
            raise self._malformed("candidates", candidates)
        for candidate in candidates:
            if not is_object(candidate):
                raise self._malformed("a candidate", candidate)
            if candidate.get("index"):
                continue
            self.has_begun = True
            content = candidate.get("content")
            if is_object(content):
                self._parts(content.get("parts"), out)
            elif content is not None:
                raise self._malformed("content", content)
            told = _word(candidate, "finishMessage")
            self._finish_message = told or self._finish_message
            reason = _word(candidate, "finishReason")
            if reason and reason != _UNSPECIFIED:
                self.finish_reason = reason

    def _parts(self, parts: object, out: list[ChatEvent]) -> None:
        if parts is None:  # a candidate that is blocked has none
            return
        if not is_array(parts):
            raise self._malformed("parts", parts)
        for part in parts:
            if not is_object(part):
                raise self._malformed("a part", part)
            self._part(part, out)

    def _part(self, part: dict[str, object], out: list[ChatEvent]) -> None:
        text, call = part.get("text"), part.get("functionCall")
        say = self._thought if part.get("thought") is True else self._text
        signature = _word(part, "thoughtSignature")
        if is_object(call):
            if isinstance(text, str):
                self._text(text, None, out)
            self._call(call, out)
            if signature:
                self._sign(signature)
        elif call is not None:
            raise self._malformed("a function call", call)
        elif isinstance(text, str):
            say(text, signature, out)
        elif part.keys() - {"thought", "thoughtSignature"}:
            # Code that the server ran, pictures, and what is not known yet.
            self._keep(part)
        else:
            say("", signature, out)

    def _text(self, text: str, signature: str | None, out: list[ChatEvent]) -> None:
        if text and self._joiner:
            text = self._joiner.feed("text", text)
        if text:
            if signature:
                # It belongs to this part alone, not to what came before.
                self._answer.close_part()
            self._append("text", text, out)
            if signature:
                self._sign(signature)
        elif signature:
            self._keep({"text": "", "thoughtSignature": signature})

    def _thought(self, text: str, signature: str | None, out: list[ChatEvent]) -> None:
        if signature:
            self._answer.close_part()
        if text and self._joiner:
            text = self._joiner.feed("thought", text)
        if text:
            self._append("thought", text, out)
        if signature:
            self._answer.signature(signature, dialect=self._dialect)
            self._answer.close_part()

    def _append(self, channel: _Channel, text: str, out: list[ChatEvent]) -> None:
        if channel == "text":
            self._answer.text(text)
            self._kind = TextDelta
        else:
            self._answer.reasoning(text)
            self._kind = ReasoningDelta
        out.append(self._kind(text=text, origin=self._origin))

    def _call(self, call: dict[str, object], out: list[ChatEvent]) -> None:
        if self._joiner:
            call = from_json(self._json(call))  # a half in it is U+FFFD
        self._read_calls(lambda: self._calls.read(call), out)

    def _read_calls(
        self, read: Callable[[], Iterable[ChatEvent]], out: list[ChatEvent]
    ) -> None:
        try:
            out.extend(read())
        except ValueError as error:
            raise MalformedResponseError(
                f"{self._dialect} sent a call that {error}", provider=self._dialect
            ) from None

    def _sign(self, signature: str) -> None:
        self._keep({"thoughtSignature": signature})

    def _keep(self, part: dict[str, object]) -> None:
        self._answer.opaque(Opaque(dialect=self._dialect, data=self._json(part)))

    def _json(self, value: object) -> str:
        try:
            return dump_json(value).decode()
        except ValueError as error:
            raise self._malformed(
                f"a value that is not JSON ({error})", value
            ) from None

    def _failure(self, raw: str) -> ModelError:
        family, retryable, advice = FAILURES[raw]
        told = f": {self._finish_message[:300]}" if self._finish_message else ""
        return family(
            f"{self._dialect} gave up on the answer ({raw}){told}; {advice}",
            provider=self._dialect,
            code=raw,
            retryable=retryable,
        )

    def _malformed(self, what: str, found: object) -> MalformedResponseError:
        return MalformedResponseError(
            f"{self._dialect} sent {what} as a Python {type(found).__name__}; "
            "is base_url a server of the Gemini API?",
            provider=self._dialect,
        )


def _word(members: dict[str, object], name: str) -> str | None:
    """A member that is text; ``None`` if it is none, or empty."""
    value = members.get(name)
    if not (isinstance(value, str) and value):
        return None
    return value if value.isascii() else join_surrogates(value)
