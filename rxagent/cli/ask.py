"""``rxagent ask``: one question, one answer, streamed."""

from __future__ import annotations

import argparse
import sys

from rxagent.agent import Agent
from rxagent.cli.json_line import json_line
from rxagent.cli.log_lines import log_lines
from rxagent.cli.terminal import Terminal
from rxagent.cli.tools_option import tools_from
from rxagent.errors import RequestError
from rxagent.requests import ChatOptions

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "run"]

HELP = "ask one question and stream the answer"
DESCRIPTION = """\
Ask one question and stream the answer.

The text of the answer goes to stdout as it comes; tool calls, progress, interim text's
ends and how the turn ended go to stderr, one line each.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; needs nothing that takes time to import."""
    parser.add_argument(
        "prompt",
        nargs="?",
        metavar="PROMPT",
        help="the question; '-' or nothing reads it from stdin",
    )
    parser.add_argument(
        "--model",
        default="local",
        metavar="MODEL",
        help="openai:NAME, local, or local:PATH of a GGUF file (default: local)",
    )
    parser.add_argument(
        "--base-url",
        metavar="URL",
        help="of any server that speaks OpenAI's chat completions",
    )
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
    parser.add_argument(
        "--json",
        action="store_true",
        help="print every event as a line of JSON, and nothing else, to stdout",
    )


def run(arguments: argparse.Namespace) -> int:
    """Ask; see `rxagent.cli.main` for what it raises and returns."""
    # A provider's client is not what `--help` should wait for.
    from rxagent.cli.model_option import model_from

    prompt = _prompt(arguments.prompt)
    agent = Agent(
        model_from(arguments.model, base_url=arguments.base_url),
        system=arguments.system,
        tools=tools_from(arguments.tools),
        options=ChatOptions(
            temperature=arguments.temperature, max_tokens=arguments.max_tokens
        ),
    )
    events = agent.stream(prompt)
    with log_lines(sys.stderr):
        if arguments.json:
            for event in events:
                print(json_line(event), flush=True)
        else:
            terminal = Terminal(out=sys.stdout, notes=sys.stderr)
            try:
                for event in events:
                    terminal.show(event)
            finally:
                terminal.end_line()
    return 0


def _prompt(argument: str | None) -> str:
    if argument is not None and argument != "-":
        return _checked(argument)
    # Python sets a closed stream to None, which typeshed does not say.
    stdin = sys.stdin or None
    if stdin is None or (argument is None and stdin.isatty()):
        raise RequestError('no prompt; write one, as in: rxagent ask "Why is it so?"')
    try:
        return stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RequestError(f"the prompt on stdin is not UTF-8: {error}") from None


def _checked(prompt: str) -> str:
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise RequestError("the prompt is not UTF-8 text") from None
    return prompt


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {number}")
    return number
