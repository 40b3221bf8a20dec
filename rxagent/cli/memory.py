"""``rxagent memory``: the conversations that are kept in a file."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from typing import TypeAlias

from rxagent.cli.memory_option import add_memory_argument, store_at
from rxagent.cli.message_lines import message_lines
from rxagent.cli.read_lines import read_lines
from rxagent.cli.visible import visible
from rxagent.errors import (
    ConflictError,
    StoreError,
)
from rxagent.memory import (
    ConversationStore,
    all_conversations,
    export_lines,
    import_lines,
)
from rxagent.runtime import block
from rxagent.runtime import run as wait_for

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "run"]

HELP = "list, show, export, import and delete kept conversations"
DESCRIPTION = """\
Look after the conversations that are kept in a file.

What is asked for goes to stdout, everything else to stderr.
"""

_Act: TypeAlias = Callable[[ConversationStore, argparse.Namespace], int]

_NO_ASCII = re.compile(r"[^\x20-\x7e]+")

_NO_LINES = "no lines; write, for example: rxagent memory import --memory FILE LINES"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; needs nothing that takes time to import."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)

    def action(
        name: str,
        act: Callable[[ConversationStore, argparse.Namespace], int],
        help_: str,
    ) -> argparse.ArgumentParser:
        subparser = actions.add_parser(name, help=help_, description=help_)
        add_memory_argument(subparser, required=True)
        subparser.set_defaults(act=act)
        return subparser

    action("list", _list, "print a line for each conversation")
    showing = action("show", _show, "print the messages of a conversation")
    showing.add_argument("id", metavar="ID", help="of the conversation")
    action("export", _export, "print each conversation as a line of JSON")
    importing = action("import", _import, "keep what `export` printed")
    importing.add_argument(
        "lines",
        nargs="?",
        metavar="LINES",
        help="a file of lines; '-' or nothing reads them from stdin",
    )
    importing.add_argument(
        "--overwrite",
        action="store_true",
        help="replace conversations that are there already",
    )
    deleting = action(
        "delete", _delete, "forget conversations; no byte of them is left"
    )
    deleting.add_argument("id", nargs="+", metavar="ID", help="of a conversation")


def run(arguments: argparse.Namespace) -> int:
    """Do it; see `rxagent.cli.main` for what it raises and returns."""
    act: _Act = arguments.act
    with store_at(arguments.memory, make=act is _import) as store:
        return act(store, arguments)


def _list(store: ConversationStore, _: argparse.Namespace) -> int:
    for info in block(all_conversations(store)):
        when = info.updated_at.astimezone().strftime("%Y-%m-%d %H:%M")
        print(f"{when}  {info.messages:5} messages  {_one_line(info.id)}")
    return 0


def _show(store: ConversationStore, arguments: argparse.Namespace) -> int:
    conversation = wait_for(store.load(arguments.id))
    if not conversation.version:
        raise _missing(arguments.id)
    for message in conversation.messages:
        for line in message_lines(message):
            print(visible(line))
    return 0


def _export(store: ConversationStore, _: argparse.Namespace) -> int:
    for line in block(export_lines(store)):
        print(_NO_ASCII.sub(_escaped, line), flush=True)
    return 0


def _import(store: ConversationStore, arguments: argparse.Namespace) -> int:
    lines = read_lines(arguments.lines, otherwise=_NO_LINES)
    stored = import_lines(store, lines, overwrite=arguments.overwrite)
    try:
        for conversation in block(stored):
            count = len(conversation.messages)
            _note(f"{count:5} messages  {_one_line(conversation.id)}")
    except ConflictError as error:
        problem = "is there already; --overwrite puts the imported one in its place"
        raise StoreError(error.conversation, problem) from None
    return 0


def _delete(store: ConversationStore, arguments: argparse.Namespace) -> int:
    missing: list[str] = []
    for conversation_id in arguments.id:
        if wait_for(store.delete(conversation_id)):
            _note(f"deleted {_one_line(conversation_id)}")
        else:
            missing.append(conversation_id)
    if missing:
        raise _missing(", ".join(missing))
    return 0


def _missing(conversation_id: str) -> StoreError:
    return StoreError(
        conversation_id, "is not there; `rxagent memory list` shows what is"
    )


def _escaped(match: re.Match[str]) -> str:
    """In JSON, what is not ASCII stands in strings alone."""
    return json.dumps(match[0])[1:-1]


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
