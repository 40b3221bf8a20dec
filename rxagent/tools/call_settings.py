"""How calls are run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rxagent.choices import check_choice
from rxagent.errors import ConfigurationError, FailureKind
from rxagent.tools.failure import Failures
from rxagent.tools.rules import check_count, check_seconds

__all__ = ["CallSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """How calls are run; what a tool declares wins.

    Args:
        timeout_s: Longest run, in seconds.
        deadline: When the turn has to end.
        max_result_chars: Longest result for the model, in characters; what a tool
            returns directly is for a person, and never cut.
        failures: Kinds of failure, by the type of the exception.
        raises: Exceptions that are not for the model: they end the run, as they are.

    Raises:
        ConfigurationError: If a value makes no sense.
    """

    timeout_s: float | None = None
    deadline: datetime | None = None
    max_result_chars: int | None = None
    failures: Failures = field(default_factory=dict[type[Exception], FailureKind])
    raises: tuple[type[Exception], ...] = ()

    def __post_init__(self) -> None:
        check_seconds("timeout_s", self.timeout_s)
        if not isinstance(self.failures, Mapping) or not all(
            map(_is_error, self.failures)
        ):
            raise ConfigurationError(
                f"failures takes kinds by types of exceptions, not {self.failures!r}"
            )
        for kind, failure in self.failures.items():
            check_choice(f"failures[{kind.__name__}]", failure, FailureKind)
        if not (isinstance(self.raises, tuple) and all(map(_is_error, self.raises))):
            raise ConfigurationError(
                f"raises takes a tuple of exception types, not {self.raises!r}"
            )
        if (most := self.max_result_chars) is not None:
            check_count("max_result_chars", most, least=1)


def _is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Exception)
