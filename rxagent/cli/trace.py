"""``rxagent trace``: recorded events as pictures, one a turn."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Iterator

from rxagent.cli.event_marks import Mark, mark_of
from rxagent.cli.json_line import json_line
from rxagent.cli.read_lines import read_lines
from rxagent.cli.turn_marble import TurnMarble
from rxagent.errors import RecordingError
from rxagent.events import ChatEvent

__all__ = ["DESCRIPTION", "HELP", "add_arguments", "mark_of_event", "page_width", "run"]

HELP = "draw the events of `ask --json` as text marbles"
DESCRIPTION = """\
Draw the events of `rxagent ask --json` as text marbles, one for each turn.

Events carry no time, so a column is a place in their order.
"""

_LEAST_WIDTH = 40

_NO_EVENTS = 'no events; write, for example: rxagent ask --json "Why?" | rxagent trace'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; needs nothing that takes time to import."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="of events; '-' or nothing reads them from stdin",
    )
    parser.add_argument(
        "--width",
        type=_width,
        metavar="N",
        help="of the page, in characters (default: that of the terminal)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Draw; see `rxagent.cli.main` for what it raises and returns."""
    width: int = arguments.width or page_width()
    open_turns: dict[str, TurnMarble] = {}
    drawn = 0

    def draw(run_id: str) -> None:
        nonlocal drawn
        if drawn:
            print()
        drawn += 1
        for line in open_turns.pop(run_id).lines(f"turn {drawn}", width=width):
            print(line)
        sys.stdout.flush()

    def draw_what_is_open() -> None:
        for run_id in list(open_turns):
            draw(run_id)

    try:
        for mark in _marks(read_lines(arguments.file, otherwise=_NO_EVENTS)):
            open_turns.setdefault(mark.run_id, TurnMarble()).add(mark)
            if mark.ending is not None:
                draw(mark.run_id)
    except RecordingError:
        draw_what_is_open()
        raise
    draw_what_is_open()
    return 0


def mark_of_event(event: ChatEvent) -> Mark:
    """Find what an event is in a picture, as if it had been recorded.

    Args:
        event: Any event.

    Returns:
        The mark.
    """
    return mark_of(json.loads(json_line(event)))


def page_width() -> int:
    """The width of the terminal, in characters; 80 if there is none."""
    return max(shutil.get_terminal_size((80, 24)).columns, _LEAST_WIDTH)


def _marks(lines: Iterable[bytes]) -> Iterator[Mark]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            mark = mark_of(json.loads(line))
        except json.JSONDecodeError as error:
            raise RecordingError(number, f"it is no JSON: {error.msg}") from None
        except RecursionError:
            raise RecordingError(number, "its JSON is nested too deeply") from None
        except ValueError as error:
            raise RecordingError(number, str(error)) from None
        yield mark


def _width(text: str) -> int:
    number = int(text)
    if number < _LEAST_WIDTH:
        raise argparse.ArgumentTypeError(
            f"must be {_LEAST_WIDTH} or more characters, got {number}"
        )
    return number
