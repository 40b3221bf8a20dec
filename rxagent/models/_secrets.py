"""Keys in what a provider says."""

from __future__ import annotations

from collections.abc import Iterable

from rxagent.errors import ModelError

__all__ = ["Secrets"]

_SHORTEST = 8  # characters; what is shorter is a placeholder such as "ollama"
_CUT = 4  # characters of a key that tell something of it


class Secrets:
    """What goes out with each request, and must not be seen in an error.

    Args:
        values: The keys, the tokens and the passwords.
    """

    def __init__(self, values: Iterable[str]) -> None:
        self._values = [value for value in values if len(value) >= _SHORTEST]

    def hide(self, error: ModelError) -> None:
        """Take them out of whatever ``error`` says, though its provider said it."""
        error.args = tuple(
            self._hidden(each) if isinstance(each, str) else each for each in error.args
        )
        error.message = self._hidden(error.message)
        error.code = error.code and self._hidden(error.code)
        error.request_id = error.request_id and self._hidden(error.request_id)

    def _hidden(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, "[secret]")
            # An excerpt may end within one.
            for length in range(len(value) - 1, _CUT - 1, -1):
                text = text.replace(f"{value[:length]}…", "[secret]…")
        return text
