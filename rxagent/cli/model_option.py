"""``--model``: which model a command talks to."""

from __future__ import annotations

from pathlib import Path

from rxagent.errors import ConfigurationError
from rxagent.models import LocalChat, OpenAIChat
from rxagent.patience import RetryPolicy
from rxagent.types import Exchange

__all__ = ["model_from"]


def model_from(
    name: str, *, base_url: str | None = None, retry: RetryPolicy = RetryPolicy()
) -> Exchange:
    """Make the model that ``name`` stands for.

    Args:
        name: ``openai:NAME``, ``local`` or ``local:PATH``.
        base_url: Of a server, for ``openai``.
        retry: When that server is asked again.

    Returns:
        The model; nothing is loaded or connected yet.

    Raises:
        ConfigurationError: If there is no such kind of model, or it lacks something.
    """
    kind, _, rest = name.partition(":")
    match kind:
        case "openai":
            if not rest:
                raise ConfigurationError(
                    "which model? write --model openai:NAME, with the server's name"
                )
            return OpenAIChat(model=rest, base_url=base_url, retry=retry)
        case "local":
            if base_url is not None:
                raise ConfigurationError(
                    "--base-url is for --model openai:NAME; "
                    "a local model runs in this process"
                )
            return LocalChat(model=Path(rest).expanduser() if rest else None)
        case _:
            raise ConfigurationError(
                f"there is no model {name!r}; there are: openai:NAME, local, local:PATH"
            )
