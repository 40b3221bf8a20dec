"""What is kept cannot be read or written."""

from __future__ import annotations

from rxagent.errors._root import RxAgentError

__all__ = [
    "ConflictError",
    "DocumentError",
    "FilterError",
    "HistoryError",
    "RecordingError",
    "RetrievalError",
    "SnapshotError",
    "StoreError",
]


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
    """A document that no index can keep, that cannot be read, or that is excluded.

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
