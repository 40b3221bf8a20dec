from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from rxagent.errors import ConfigurationError
from rxagent.models._local_chat import LocalChat
from rxagent.models._providers import PROVIDERS
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.types import Exchange

__all__ = ["model"]

_LOCAL = "local"
_ALIKE = 0.7  # two letters of six may be wrong


def model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    timeouts: Timeouts = Timeouts(),
    retry: RetryPolicy = RetryPolicy(),
) -> Exchange:
    """Make the model that a name stands for, as in ``model("groq:NAME")``.

    ::

        --q-----------|
        [ model("groq:NAME") ]            one request a question, one after the other
        --a--b--(F,|)

    Which models a provider has is for the provider to say; no list of them is here.

    Args:
        name: ``PROVIDER:NAME`` with the provider's name of the model, ``local``, or
            ``local:PATH`` of a GGUF file.
        base_url: Of another server that answers in the provider's place.
        api_key: Default: what the provider's variable of the environment says.
        timeouts: How long to wait for a server, and for what; see `Timeouts`.
        retry: When a server is asked again; see `RetryPolicy`.

    Returns:
        The model; nothing is loaded or connected yet.

    Raises:
        ConfigurationError: If there is no such provider, or it lacks something, such
            as a key.
    """
    kind, _, rest = name.partition(":")
    if kind == _LOCAL:
        if base_url is not None or api_key is not None:
            raise ConfigurationError(
                f"a base URL or a key is for a server, and {name!r} runs on this "
                "machine; name a provider, as in openai:NAME"
            )
        return LocalChat(model=Path(rest).expanduser() if rest else None)
    if kind not in PROVIDERS:
        raise ConfigurationError(_unknown(name))
    if not rest:
        raise ConfigurationError(
            f"which model? write {kind}:NAME, with the provider's name of it"
        )
    return PROVIDERS[kind].make(
        model=rest, base_url=base_url, api_key=api_key, timeouts=timeouts, retry=retry
    )


def _unknown(name: str) -> str:
    kind, colon, _ = name.partition(":")
    known = sorted([*PROVIDERS, _LOCAL])
    near = get_close_matches(kind.lower(), known, n=1, cutoff=_ALIKE)
    hint = f"did you mean {near[0]!r}? " if near else ""
    problem = (
        f"there is no provider {kind!r}"
        if colon
        else f"{name!r} names no provider; write PROVIDER:NAME"
    )
    return f"{problem}; {hint}there are: {', '.join(known)}"
