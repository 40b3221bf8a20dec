"""``rxagent chat``: a conversation, one turn after the other."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass

from rxagent.advisors import memory
from rxagent.agent import Agent
from rxagent.cli.agent_options import add_agent_arguments, agent_from
from rxagent.cli.interrupts import Interrupts
from rxagent.cli.line_reader import LineReader
from rxagent.cli.log_lines import log_lines
from rxagent.cli.memory_option import add_memory_argument, store_at
from rxagent.cli.terminal import Terminal
from rxagent.cli.tools_option import tools_from
from rxagent.cli.trace import mark_of_event, page_width
from rxagent.cli.turn_marble import TurnMarble
from rxagent.cli.visible import visible
from rxagent.errors import ConfigurationError, RequestError, RxAgentError
from rxagent.memory import CONVERSATION_ID, ConversationStore, MemoryStore
from rxagent.requests import ToolSpec
from rxagent.runtime import block
from rxagent.runtime import run as wait_for

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "run"]

HELP = "talk with a model, turn by turn"
_SHOWN_CHARS = 40
_CONVERSATION = "chat"
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
    add_memory_argument(parser, required=False)
    parser.add_argument(
        "--conversation",
        metavar="ID",
        help="which one of the file to go on with, or to start "
        f"(default: {_CONVERSATION})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Talk; see `rxagent.cli.main` for what it raises and returns."""
    name: str | None = arguments.conversation
    if name is None:
        name = _CONVERSATION
    elif not arguments.memory:
        raise ConfigurationError("--conversation needs --memory FILE to keep it in")
    elif not name.strip():
        raise ConfigurationError("--conversation must not be blank")
    tools = tools_from(arguments.tools)
    with ExitStack() as stack:
        store: ConversationStore = MemoryStore()
        if arguments.memory:
            store = stack.enter_context(store_at(arguments.memory, make=True))
        agent = agent_from(arguments, tools=tools, advisors=[memory(store)])
        return _talk(_Kept(store=store, id=name), agent, tools)


def _talk(kept: _Kept, agent: Agent, tools: Sequence[ToolSpec]) -> int:
    reader = LineReader("> ")
    with log_lines(sys.stderr), Interrupts() as interrupts:
        chat = _Chat(kept, agent, tools, interrupts)
        before = kept.count()
        if before:
            _note(f"(going on after {before} messages; /reset forgets them)")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A conversation in a store; only a turn that is finished becomes part of it."""

    store: ConversationStore
    id: str

    def count(self) -> int:
        """How many messages there are."""
        return len(wait_for(self.store.load(self.id)).messages)

    def forget(self) -> None:
        """Delete it."""
        wait_for(self.store.delete(self.id))


class _Chat:
    """What is done with each line."""

    def __init__(
        self,
        kept: _Kept,
        agent: Agent,
        tools: Sequence[ToolSpec],
        interrupts: Interrupts,
    ) -> None:
        self._kept = kept
        self._agent = agent
        self._tools = tools
        self._interrupts = interrupts
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
                self._reset()
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

    def _reset(self) -> None:
        try:
            self._kept.forget()
        except RxAgentError as error:
            _complain(error)
        else:
            _note("(the conversation is forgotten)")

    def _answer(self, text: str) -> None:
        context = {CONVERSATION_ID.name: self._kept.id}
        terminal = Terminal(out=sys.stdout, notes=sys.stderr)
        marble = TurnMarble()
        self._turns += 1
        try:
            with (
                self._interrupts.expected(),
                closing(block(self._agent.stream(text, context=context))) as events,
            ):
                for event in events:
                    terminal.show(event)
                    if self._traces:
                        marble.add(mark_of_event(event))
        except KeyboardInterrupt:
            terminal.end_line()
            _note("(cancelled)")
        except RxAgentError as error:
            self.has_failed = True
            terminal.end_line()
            _complain(error)
        else:
            terminal.end_line()
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
