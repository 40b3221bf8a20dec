"""``rxagent chat``: a conversation, one turn after the other."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing

from rxagent.agent import Agent
from rxagent.cli.agent_options import add_agent_arguments, agent_from
from rxagent.cli.interrupts import Interrupts
from rxagent.cli.line_reader import LineReader
from rxagent.cli.log_lines import log_lines
from rxagent.cli.terminal import Terminal
from rxagent.cli.tools_option import tools_from
from rxagent.cli.trace import mark_of_event, page_width
from rxagent.cli.turn_marble import TurnMarble
from rxagent.cli.visible import visible
from rxagent.errors import RequestError, RxAgentError
from rxagent.events import Finished
from rxagent.messages import Message, UserMessage
from rxagent.requests import ToolSpec
from rxagent.runtime import block

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "run"]

HELP = "talk with a model, turn by turn"
_SHOWN_CHARS = 40
_COMMANDS = {
    "/help": "show this",
    "/reset": "forget the conversation",
    "/tools": "list the tools that the model may call",
    "/trace": "draw the events of each turn after it, or stop that",
}
_HELP_LINES = (
    *(f"{name:<8}{text}" for name, text in _COMMANDS.items()),
    "Ctrl-C  cancel the answer that comes, or the line that is typed",
    "Ctrl-D  end the chat",
    "Put a space before a line that starts with / and is meant for the model.",
)
DESCRIPTION = """\
Talk with a model, turn by turn; each line is a turn, typed or from a pipe.

The text of the answers goes to stdout as it comes, everything else to stderr.
""" + "\n".join(("", *_HELP_LINES, ""))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; needs nothing that takes time to import."""
    add_agent_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Talk; see `rxagent.cli.main` for what it raises and returns."""
    tools = tools_from(arguments.tools)
    agent = agent_from(arguments, tools=tools)
    reader = LineReader("> ")
    with log_lines(sys.stderr), Interrupts() as interrupts:
        chat = _Chat(agent, tools, interrupts)
        if reader.is_typed:
            _note("/help lists the commands, Ctrl-D ends the chat")
        while (line := _next_line(reader, interrupts)) is not None:
            chat.take(line)
        reader.end_line()
    # Who typed has seen it, and went on; who piped sees the code.
    return 1 if chat.has_failed and not reader.is_typed else 0


def _next_line(reader: LineReader, interrupts: Interrupts) -> str | None:
    while True:
        try:
            with interrupts.expected():
                return reader.read()
        except KeyboardInterrupt:
            if not reader.is_typed:
                raise
            reader.end_line()
            if not reader.unfinished:
                _note("(Ctrl-D ends the chat)")
        except RequestError as error:
            _complain(error)


class _Chat:
    """A conversation; only a turn that is finished becomes part of it."""

    def __init__(
        self, agent: Agent, tools: Sequence[ToolSpec], interrupts: Interrupts
    ) -> None:
        self._agent = agent
        self._tools = tools
        self._interrupts = interrupts
        self._messages: tuple[Message, ...] = ()
        self._turns = 0
        self._traces = False
        self.has_failed = False
        """Whether a turn has."""

    def take(self, line: str) -> None:
        """Do what a line asks for."""
        text = line.strip()
        if line.startswith("/"):
            self._obey(text)
        elif text:
            self._answer(text)

    def _obey(self, command: str) -> None:
        match command:
            case "/help":
                _note("\n".join(_HELP_LINES))
            case "/reset":
                self._messages = ()
                _note("(the conversation is forgotten)")
            case "/tools":
                for tool in self._tools:
                    _note(f"{tool.name}: {_one_line(tool.description)}")
                if not self._tools:
                    _note("(there are none; start with --tools MODULE[:NAME])")
            case "/trace":
                self._traces = not self._traces
                _note(f"(trace is {'on' if self._traces else 'off'})")
            case _:
                short = len(command) <= _SHOWN_CHARS
                name = command if short else f"{command[:_SHOWN_CHARS]}..."
                _note(f"there is no {name!r}; there are: {', '.join(_COMMANDS)}")

    def _answer(self, text: str) -> None:
        asked = (*self._messages, UserMessage.of(text))
        terminal = Terminal(out=sys.stdout, notes=sys.stderr)
        marble = TurnMarble()
        answered: tuple[Message, ...] = ()
        self._turns += 1
        try:
            with (
                self._interrupts.expected(),
                closing(block(self._agent.stream(asked))) as events,
            ):
                for event in events:
                    terminal.show(event)
                    if self._traces:
                        marble.add(mark_of_event(event))
                    if isinstance(event, Finished):
                        answered = event.response.transcript
        except KeyboardInterrupt:
            terminal.end_line()
            _note("(cancelled)")
        except RxAgentError as error:
            self.has_failed = True
            terminal.end_line()
            _complain(error)
        else:
            terminal.end_line()
            self._messages = (*asked, *answered)
        if self._traces:
            for line in marble.lines(f"turn {self._turns}", width=page_width()):
                _note(line)


def _note(line: str) -> None:
    print(visible(line), file=sys.stderr, flush=True)


def _complain(problem: object) -> None:
    _note(f"rxagent: {_one_line(str(problem))}")


def _one_line(text: str) -> str:
    """Whatever a provider or a docstring put into it."""
    return " ".join(text.split())
