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
    │   ├── DocumentError         one that no index can keep or a filter excludes
    │   └── FilterError           a filter that cannot be read; ``position`` says where
    └── StreamError
        ├── NoItemsError          a stream completed without the item that was awaited
        ├── BufferOverflowError   a reader is too slow for a source that does not pause
        ├── RetractedError        text that was delivered is void, and cannot be cleared
        └── StreamCancelledError  somebody else cancelled the task of a stream

The families are disjoint: who catches ``ModelError`` never swallows another one.  A
blocked answer is no error but a response with ``blocked_by``.
"""

from rxagent.errors._answer import (
    ArgumentsError,
    InvalidAnswerError,
    NoAnswerError,
    NoJsonError,
    OutputError,
)
from rxagent.errors._context import ContextError, ContextTypeError, MissingContextError
from rxagent.errors._kept import (
    ConflictError,
    DocumentError,
    FilterError,
    HistoryError,
    RecordingError,
    RetrievalError,
    SnapshotError,
    StoreError,
)
from rxagent.errors._model import (
    AuthenticationError,
    BadRequestError,
    Clock,
    ContextLengthError,
    EmptyStreamError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelTimeoutError,
    OverloadedError,
    ProviderStreamError,
    RateLimitError,
    ServerError,
    TruncatedStreamError,
)
from rxagent.errors._root import (
    AdvisorError,
    ConfigurationError,
    RequestError,
    RxAgentError,
)
from rxagent.errors._stream import (
    BufferOverflowError,
    NoItemsError,
    RetractedError,
    StreamCancelledError,
    StreamError,
)
from rxagent.errors._turn import (
    FailureKind,
    GuardError,
    LimitError,
    ToolError,
    ToolFailedError,
)

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
