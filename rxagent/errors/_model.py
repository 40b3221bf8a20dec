"""The provider, or the way to it, failed."""

from __future__ import annotations

from typing import Literal, TypeAlias

from rxagent.errors._root import RxAgentError
from rxagent.usage import Usage

__all__ = [
    "AuthenticationError",
    "BadRequestError",
    "Clock",
    "ContextLengthError",
    "EmptyStreamError",
    "MalformedResponseError",
    "ModelConnectionError",
    "ModelError",
    "ModelNotFoundError",
    "ModelTimeoutError",
    "OverloadedError",
    "ProviderStreamError",
    "RateLimitError",
    "ServerError",
    "TruncatedStreamError",
]


Clock: TypeAlias = Literal["connect", "first", "gap", "turn"]
"""What ran out: the wait for a connection, for the first event, for any sign of life,
or for the whole answer; see `rxagent.Timeouts`."""


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
