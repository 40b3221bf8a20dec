"""Everything that rxagent raises, in one tree.

::

    RxAgentError
    ├── ConfigurationError        a chain, an agent or a tool was put together wrongly
    ├── RequestError              a request that cannot be sent, such as an empty prompt
    ├── AdvisorError              an advisor broke its contract
    ├── ContextError
    │   ├── MissingContextError   nothing is there under the key
    │   └── ContextTypeError      something of another type is there
    ├── ModelError                the provider or the way to it failed
    │   ├── AuthenticationError   no key, a wrong key, no permission
    │   ├── BadRequestError       the provider rejects the request
    │   │   ├── ContextLengthError    ... because it is too long
    │   │   └── ModelNotFoundError    ... because there is no such model or address
    │   ├── RateLimitError        too many requests; see ``retry_after_s``
    │   ├── OverloadedError       the provider is busy
    │   ├── ServerError           the provider broke
    │   ├── ModelTimeoutError     a clock ran out; ``clock`` says which
    │   ├── ModelConnectionError  no connection, or it was lost
    │   ├── TruncatedStreamError  the stream ended before the answer did
    │   ├── EmptyStreamError      the stream ended before anything came
    │   ├── MalformedResponseError    what came is not what the dialect says
    │   └── ProviderStreamError   the provider reports an error within a stream
    ├── OutputError               what a model wrote cannot be used
    │   ├── ArgumentsError        arguments of a tool call that are no JSON object
    │   ├── NoJsonError           an answer without the JSON that was asked for
    │   └── InvalidAnswerError    an answer that is not of the type that was asked for
    ├── NoAnswerError             a turn that ended before there was an answer to read
    ├── HistoryError              stored messages cannot be read
    ├── SnapshotError             a paused turn cannot be saved, read or resumed
    ├── RecordingError            recorded events cannot be read
    ├── ToolError                 a tool failed, and that is not for the model to see
    ├── ToolFailedError           a tool failed, and says how; the model sees it
    ├── LimitError                a limit was reached, and it was set to raise
    ├── GuardError                a guard has stopped an answer; ``guard`` says which
    ├── StoreError                a conversation store failed
    │   └── ConflictError         somebody else has written to the conversation
    ├── RetrievalError            documents cannot be kept or found
    │   ├── DocumentError         one that no index can keep, or that is unreadable
    │   └── FilterError           a filter that cannot be read; ``position`` says where
    └── StreamError
        ├── NoItemsError          a stream completed without the item that was awaited
        ├── BufferOverflowError   a reader is too slow for a source that does not pause
        ├── RetractedError        text that was delivered is void, and cannot be cleared
        └── StreamCancelledError  somebody else cancelled the task of a stream

The families are disjoint: who catches ``ModelError`` never swallows another one.  A
blocked answer is no error but a response with ``blocked_by``.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Literal, Self, TypeAlias

from rxagent.usage import Usage

__all__ = [
    "AdvisorError",
    "ArgumentsError",
    "AuthenticationError",
    "BadRequestError",
    "BufferOverflowError",
    "Clock",
    "ConfigurationError",
    "ConflictError",
    "ContextError",
    "ContextLengthError",
    "ContextTypeError",
    "DocumentError",
    "EmptyStreamError",
    "FailureKind",
    "FilterError",
    "GuardError",
    "HistoryError",
    "InvalidAnswerError",
    "LimitError",
    "MalformedResponseError",
    "MissingContextError",
    "ModelConnectionError",
    "ModelError",
    "ModelNotFoundError",
    "ModelTimeoutError",
    "NoAnswerError",
    "NoItemsError",
    "NoJsonError",
    "OutputError",
    "OverloadedError",
    "ProviderStreamError",
    "RateLimitError",
    "RecordingError",
    "RequestError",
    "RetractedError",
    "RetrievalError",
    "RxAgentError",
    "ServerError",
    "SnapshotError",
    "StoreError",
    "StreamCancelledError",
    "StreamError",
    "ToolError",
    "ToolFailedError",
    "TruncatedStreamError",
]

Clock: TypeAlias = Literal["connect", "first", "gap", "turn"]
"""What ran out: the wait for a connection, for the first event, for any sign of life,
or for the whole answer; see `rxagent.Timeouts`."""


class RxAgentError(Exception):
    """Whatever rxagent raises; it can be pickled, as an exception seldom can.

    Its attribute ``usage`` is what the turn has cost until then, all rounds and agents
    that are tools included; ``None`` if nothing was counted.
    """

    usage: Usage | None = None

    def after(self, usage: Usage) -> Self:
        """This error, with what was spent before it.

        Args:
            usage: Of earlier requests of the turn.

        Returns:
            A copy, since a model may raise one error again and again; the error itself
            if nothing was spent.
        """
        if usage == Usage():
            return self
        later = copy(self).with_traceback(self.__traceback__)
        later.__cause__, later.__context__ = self.__cause__, self.__context__
        later.__suppress_context__ = self.__suppress_context__
        later.usage = usage if self.usage is None else usage + self.usage
        return later

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[RxAgentError], args: tuple[object, ...], attributes: dict[str, object]
) -> RxAgentError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class ConfigurationError(RxAgentError, ValueError):
    """A chain, an agent or a tool was put together wrongly; raised at once."""


class RequestError(RxAgentError, ValueError):
    """A request that cannot be sent."""


class AdvisorError(RxAgentError):
    """An advisor broke its contract.

    Args:
        advisor: Its name.
        problem: What it did, as the rest of a sentence.
    """

    def __init__(self, advisor: str, problem: str) -> None:
        super().__init__(f"advisor {advisor!r} {problem}")
        self.advisor = advisor


class ContextError(RxAgentError):
    """A value of the context cannot be read."""


class MissingContextError(ContextError, KeyError):
    """Nothing is there under the key."""

    def __init__(self, key: str, *, hint: str = "") -> None:
        how = hint or f"pass context={{{key!r}: ...}} with the call"
        super().__init__(f"the context has no {key!r}; {how}")
        self.key = key

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


class ContextTypeError(ContextError, TypeError):
    """Something of another type is there under the key."""

    def __init__(self, key: str, *, expected: type, found: type) -> None:
        super().__init__(
            f"context key {key!r} holds {found.__name__}, not {expected.__name__}"
        )
        self.key = key
        self.expected = expected
        self.found = found


class HistoryError(RxAgentError, ValueError):
    """Stored messages cannot be read.

    Args:
        where: Path to the first problem.
        problem: What is wrong there.
        problems: How many there are in all.
    """

    def __init__(self, where: str, problem: str, *, problems: int = 1) -> None:
        more = f" (and {problems - 1} more)" if problems > 1 else ""
        super().__init__(f"stored messages cannot be read: {where}: {problem}{more}")
        self.where = where
        self.problem = problem
        self.problems = problems


class RecordingError(RxAgentError, ValueError):
    """Recorded events cannot be read.

    Args:
        line: Of the recording, from 1.
        problem: What is wrong there.
    """

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line} is no recorded event: {problem}")
        self.line = line
        self.problem = problem


class ModelError(RxAgentError):
    """The provider, or the way to it, failed.

    Args:
        message: What happened and what to do.
        provider: Whose fault it is, such as ``"openai"``.
        status: HTTP status, or the one that the provider names in its payload.
        code: The provider's own word for the error.
        retry_after_s: Seconds after which the provider wants to be asked again.
        delivered: Whether any event reached the consumer before.
        retryable: Whether the same request may succeed later; ``None`` takes the
            default of the class.
        usage: Tokens that the provider counted before.
        request_id: The provider's name of the request; its support wants to know it.

    Its attribute ``attempts`` is how often the provider was asked: 1 and the retries;
    ``text`` is what came of the answer's text before, unless a clock of an operator,
    which reads no answers, ran out.
    """

    default_retryable = False

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        status: int | None = None,
        code: str | None = None,
        retry_after_s: float | None = None,
        delivered: bool = False,
        retryable: bool | None = None,
        usage: Usage | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.provider = provider
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s
        self.delivered = delivered
        self.retryable = self.default_retryable if retryable is None else retryable
        self.usage = usage
        self.attempts = 1
        self.text = ""
        self.request_id = request_id


class AuthenticationError(ModelError):
    """No key, a wrong key, or no permission."""


class BadRequestError(ModelError):
    """The provider rejects the request."""


class ContextLengthError(BadRequestError):
    """The request is longer than the model can take."""


class ModelNotFoundError(BadRequestError):
    """There is no such model, or no such address."""


class RateLimitError(ModelError):
    """Too many requests or tokens; ``retry_after_s`` says when to come back."""

    default_retryable = True


class OverloadedError(ModelError):
    """The provider is busy."""

    default_retryable = True


class ServerError(ModelError):
    """The provider broke."""

    default_retryable = True


class ModelTimeoutError(ModelError):
    """A clock ran out.

    Args:
        clock: Which one.
        limit_s: What it was set to, in seconds.
    """

    default_retryable = True

    def __init__(
        self,
        message: str,
        *,
        clock: Clock,
        limit_s: float | None = None,
        provider: str = "",
        delivered: bool = False,
    ) -> None:
        super().__init__(message, provider=provider, delivered=delivered)
        self.clock = clock
        self.limit_s = limit_s


class ModelConnectionError(ModelError):
    """No connection could be made, or it was lost."""

    default_retryable = True


class TruncatedStreamError(ModelError):
    """The stream ended before the answer did."""

    default_retryable = True


class EmptyStreamError(ModelError):
    """The stream ended before anything came."""

    default_retryable = True


class MalformedResponseError(ModelError):
    """What came is not what the dialect says."""


class ProviderStreamError(ModelError):
    """The provider reports an error within a stream, and not which kind."""


class OutputError(RxAgentError, ValueError):
    """What a model wrote cannot be used; the message is fit to be shown to it.

    Args:
        message: What is wrong and how to write it right.
        text: What the model wrote.
    """

    def __init__(self, message: str, *, text: str) -> None:
        super().__init__(message)
        self.text = text


class ArgumentsError(OutputError):
    """The arguments of a tool call are no JSON object."""


class NoJsonError(OutputError):
    """An answer does not hold the JSON that was asked for."""


class InvalidAnswerError(OutputError):
    """An answer is not of the type that was asked for.

    Args:
        problem: The first thing that is wrong, as a sentence that the model can act on.
        texts: What the model answered, one text for each attempt.
        usage: Tokens of all attempts.

    Its attribute ``attempts`` is their number, ``text`` the last of them.
    """

    def __init__(
        self, problem: str, *, texts: tuple[str, ...], usage: Usage | None = None
    ) -> None:
        tries = f" (after {len(texts)} attempts)" if len(texts) > 1 else ""
        super().__init__(f"{problem}{tries}", text=texts[-1] if texts else "")
        self.problem = problem
        self.texts = texts
        self.attempts = len(texts)
        self.usage = usage


class NoAnswerError(RxAgentError):
    """A turn ended before there was an answer to read.

    Args:
        message: What happened and what to do.
        finish_reason: Why it ended, such as ``"blocked"`` or ``"length"``.
        response: The `ChatResponse`, with its text and, if it is paused, its snapshot.
        usage: Tokens that the turn has cost.
    """

    def __init__(
        self,
        message: str,
        *,
        finish_reason: str,
        response: object,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message)
        self.finish_reason = finish_reason
        self.response = response
        self.usage = usage


class ToolError(RxAgentError):
    """A tool failed, and that is not for the model to see.

    Args:
        tool: Its name.
        problem: What happened, as the rest of a sentence.
    """

    def __init__(self, tool: str, problem: str) -> None:
        super().__init__(f"tool {tool!r} {problem}")
        self.tool = tool


FailureKind: TypeAlias = Literal["semantic", "transient", "environment"]
"""A failure: the model can do better, it may work later, or a person has to act."""


class ToolFailedError(RxAgentError):
    """A tool failed, and says in which way; raised by tools, for the model to see.

    Args:
        message: What happened and what the model may do.
        kind: ``"transient"`` is tried again if the tool declares retries;
            ``"environment"`` may pause the turn until a person has acted.
    """

    def __init__(self, message: str, *, kind: FailureKind = "semantic") -> None:
        super().__init__(message)
        self.kind: FailureKind = kind


class LimitError(RxAgentError):
    """A limit was reached, and it was set to raise.

    Args:
        name: The option that set it.
        value: What it was set to.
        message: What happened and what to do.
        usage: Tokens that the turn has cost.
    """

    def __init__(
        self, message: str, *, name: str, value: float, usage: Usage | None = None
    ) -> None:
        super().__init__(message)
        self.name = name
        self.value = value
        self.usage = usage


class GuardError(RxAgentError):
    """A guard has stopped an answer.

    Args:
        guard: Its name.
        problem: What it found, as the rest of a sentence; never the text itself.
        usage: Tokens that the answer has cost, if they are known.
    """

    def __init__(self, guard: str, problem: str, *, usage: Usage | None = None) -> None:
        super().__init__(f"guard {guard!r} {problem}")
        self.guard = guard
        self.problem = problem
        self.usage = usage


class StoreError(RxAgentError):
    """A conversation store failed.

    Args:
        conversation: Its id; empty if it was no single one.
        problem: What happened, as the rest of a sentence.
    """

    def __init__(self, conversation: str, problem: str) -> None:
        which = f"conversation {conversation!r}" if conversation else "the store"
        super().__init__(f"{which} {problem}")
        self.conversation = conversation
        self.problem = problem


class ConflictError(StoreError):
    """Somebody else has written to the conversation; nothing was written.

    Args:
        conversation: Its id.
        expected: The version that was expected.
        found: The version that is there.
    """

    def __init__(self, conversation: str, *, expected: int, found: int) -> None:
        super().__init__(
            conversation,
            f"is at version {found}, not {expected}: somebody else has written to it; "
            "load it again and repeat what was to be written",
        )
        self.expected = expected
        self.found = found


class RetrievalError(RxAgentError):
    """Documents cannot be kept or found."""


class DocumentError(RetrievalError, ValueError):
    """A document that no index can keep, or that cannot be read.

    Args:
        document: Its id, or where it lies.
        problem: What is wrong with it, as the rest of a sentence.
    """

    def __init__(self, document: str, problem: str) -> None:
        which = f"document {document!a}" if document else "a document"
        super().__init__(f"{which} {problem}")
        self.document = document
        self.problem = problem


class FilterError(RetrievalError, ValueError):
    """A filter that cannot be read.

    Args:
        position: In its text, from 0.
        problem: What is wrong there, as a sentence.
    """

    def __init__(self, position: int, problem: str) -> None:
        super().__init__(f"the filter cannot be read at position {position}: {problem}")
        self.position = position
        self.problem = problem


class SnapshotError(RxAgentError, ValueError):
    """A paused turn cannot be saved, read or resumed."""


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
