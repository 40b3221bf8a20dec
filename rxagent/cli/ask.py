"""``rxagent ask``: one question, one answer, streamed."""

from __future__ import annotations

import argparse
import sys

from rxagent.cli.agent_options import add_agent_arguments, agent_from
from rxagent.cli.json_line import json_line
from rxagent.cli.log_lines import log_lines
from rxagent.cli.terminal import Terminal
from rxagent.cli.tools_option import tools_from
from rxagent.errors import RequestError

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
    add_agent_arguments(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print every event as a line of JSON, and nothing else, to stdout",
    )


def run(arguments: argparse.Namespace) -> int:
    """Ask; see `rxagent.cli.main` for what it raises and returns."""
    prompt = _prompt(arguments.prompt)
    agent = agent_from(arguments, tools=tools_from(arguments.tools))
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
