"""The options that say which agent a command talks to."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from rxagent.agent import Agent
from rxagent.requests import ChatOptions, ToolSpec
from rxagent.types import Advisor

__all__ = ["add_agent_arguments", "add_model_arguments", "agent_from"]


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare ``--model`` and ``--base-url``."""
    parser.add_argument(
        "--model",
        default="local",
        metavar="MODEL",
        help="PROVIDER:NAME such as openai:NAME, local, or local:PATH of a GGUF file; "
        "a wrong provider lists those that there are (default: local)",
    )
    parser.add_argument(
        "--base-url",
        metavar="URL",
        help="of another server that answers in the provider's place; for openai:NAME "
        "of any that speaks OpenAI's chat completions",
    )


def add_agent_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `agent_from` needs, and ``--tools``."""
    add_model_arguments(parser)
    parser.add_argument("--system", metavar="TEXT", help="instructions for the model")
    parser.add_argument(
        "--tools",
        action="append",
        default=[],
        metavar="MODULE[:NAME]",
        help="a tool of a module, or all of its tools; may be given again",
    )
    parser.add_argument(
        "--temperature", type=float, metavar="T", help="0 is the least random"
    )
    parser.add_argument(
        "--max-tokens", type=_positive, metavar="N", help="longest answer, in tokens"
    )


def agent_from(
    arguments: argparse.Namespace,
    *,
    tools: Iterable[ToolSpec],
    advisors: Iterable[Advisor] = (),
) -> Agent:
    """Make the agent that the options describe.

    Args:
        arguments: What `add_agent_arguments` declared.
        tools: What the model may call.
        advisors: First is outermost.

    Returns:
        The agent; nothing is loaded or connected yet.

    Raises:
        ConfigurationError: If the model or the tools are put together wrongly.
    """
    # A provider's client is not what `--help` should wait for.
    from rxagent.models import model

    return Agent(
        model(arguments.model, base_url=arguments.base_url),
        system=arguments.system,
        tools=tools,
        advisors=advisors,
        options=ChatOptions(
            temperature=arguments.temperature, max_tokens=arguments.max_tokens
        ),
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {number}")
    return number
