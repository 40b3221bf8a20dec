"""The root of the tree, and what is wrong with how things were put together."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Self

from rxagent.usage import Usage

__all__ = [
    "AdvisorError",
    "ConfigurationError",
    "RequestError",
    "RxAgentError",
]


class RxAgentError(Exception):
    """Whatever rxagent raises; it can be pickled, as an exception seldom can.

    Its attribute ``usage`` is what the turn has cost until then, all rounds and agents
    that are tools included; ``None`` if nothing was counted.
    """

    usage: Usage | None = None

    def after(self, usage: Usage, *, failed: Exception | None = None) -> Self:
        """This error, with what was spent, and what has failed, before it.

        Args:
            usage: Of earlier requests of the turn.
            failed: The error of the one before, to be found in ``__context__``.

        Returns:
            A copy, since a model may raise one error again and again; the error itself
            if nothing was spent and nothing has failed.
        """
        if usage == Usage() and failed is None:
            return self
        later = copy(self).with_traceback(self.__traceback__)
        later.__cause__, later.__context__ = self.__cause__, failed or self.__context__
        later.__suppress_context__ = self.__suppress_context__
        if usage != Usage():
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
