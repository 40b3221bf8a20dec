"""A turn as a marble diagram in plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from rxagent.cli.event_marks import MEANINGS, Ending, Mark
from rxagent.usage import Usage

__all__ = ["TurnMarble"]

_PIECES = frozenset("trcp")
_CUT = "#"
_MEANINGS = {**MEANINGS, _CUT: "it ended here, not finished"}
_TEXTS = {"F": "(F,|)"}
_LEAD = 2
_LEAST_ROOM = 16


class TurnMarble:
    """The marks of one turn, drawn in their order, since events carry no time.

    ::

        turn 1: 2 rounds, 1 tool run
          agent    --c3--R-----------t14--(F,|)
          weather          --s--p5--f

    A lane for the agent and one for each tool, whose dashes say how long a call runs.
    Pieces of one kind are one mark with their number, until something else begins or
    ends; so the picture grows with what happened, and not with what was said.
    """

    def __init__(self) -> None:
        self._lanes: dict[tuple[str, bool], _Lane] = {}
        self._columns: list[_Column] = []
        self._recent: dict[_Lane, _Column] = {}  # since something began or ended
        self._rounds = 0
        self._runs = 0
        self._ending: Ending | None = None

    def add(self, mark: Mark) -> None:
        """Take the next mark.

        Args:
            mark: As `mark_of` finds it.
        """
        self._rounds = max(self._rounds, mark.round + 1)
        self._runs += mark.letter == "s"
        self._ending = mark.ending
        lane = self._lane(mark.lane, is_tool=mark.is_tool)
        is_piece = mark.letter in _PIECES
        last = self._recent.get(lane)
        is_alike = last is not None and last.letter == mark.letter
        if last is not None and is_alike and (is_piece or last is self._columns[-1]):
            last.count += 1
            return
        if not is_piece:
            self._recent.clear()
        self._recent[lane] = column = _Column(lane, mark.letter)
        self._columns.append(column)

    def lines(self, name: str, *, width: int) -> Iterator[str]:
        """Draw what came so far.

        Args:
            name: Of the turn.
            width: Of the page, in characters; a longer picture goes on below.

        Returns:
            Lines without ends: the name, the picture, a legend, and how it ended.
        """
        columns = self._columns
        if self._ending is None:
            agents = [lane for lane in self._lanes.values() if not lane.is_tool]
            lane = agents[0] if agents else self._lane("model", is_tool=False)
            columns = [*columns, _Column(lane, _CUT)]
        runs = _many(self._runs, "tool run")
        yield f"{_plain(name)}: {_many(self._rounds, 'round')}, {runs}"
        yield from _picture(columns, width)
        yield from _paragraph(_legend(columns), width)
        if self._ending is not None:
            model = f", by {self._ending.model}" if self._ending.model else ""
            yield from _paragraph(f"ended: {self._ending.reason}{model}", width)
            yield from _paragraph(f"usage: {_counted(self._ending.usage)}", width)

    def _lane(self, name: str, *, is_tool: bool) -> _Lane:
        lane = self._lanes.get((name, is_tool))
        if lane is None:
            lane = _Lane(name, is_tool=is_tool, place=len(self._lanes))
            self._lanes[name, is_tool] = lane
        return lane


class _Lane:
    """A line of the picture: an agent, or all calls of one tool."""

    def __init__(self, name: str, *, is_tool: bool, place: int) -> None:
        self.label = _plain(name)
        self.is_tool = is_tool
        self.place = place


class _Column:
    """A mark, or equal ones that are counted."""

    def __init__(self, lane: _Lane, letter: str) -> None:
        self.lane = lane
        self.letter = letter
        self.count = 1

    @property
    def text(self) -> str:
        count = "" if self.count == 1 else str(self.count)
        return _TEXTS.get(self.letter, self.letter) + count


def _picture(columns: Sequence[_Column], width: int) -> Iterator[str]:
    gutter = min(max(len(column.lane.label) for column in columns), width // 3)
    running = Counter[_Lane]()
    room = max(width - gutter - 3, _LEAST_ROOM)
    for number, part in enumerate(_parts(columns, room)):
        if number:
            yield ""
        for lane, row in _rows(part, running):
            fits = len(lane.label) <= gutter
            label = lane.label if fits else f"{lane.label[: gutter - 2]}.."
            yield f"  {label:{gutter}} {row}".rstrip()


def _parts(columns: Iterable[_Column], room: int) -> Iterator[list[_Column]]:
    """Break what does not fit into ``room`` characters, as lines of music are."""
    part = list[_Column]()
    left = room
    for column in columns:
        left -= _LEAD + len(column.text)
        if left < 0 and part:
            yield part
            part = []
            left = room - _LEAD - len(column.text)
        part.append(column)
    yield part


def _rows(
    part: Sequence[_Column], running: Counter[_Lane]
) -> Iterator[tuple[_Lane, str]]:
    """Draw the lanes with a mark in this part; ``running`` goes on to the next one."""
    lanes = sorted({column.lane for column in part}, key=lambda lane: lane.place)
    rows = dict.fromkeys(lanes, "")
    for column in part:
        for lane in lanes:
            if lane is not column.lane:
                rows[lane] += _dashes(running[lane], _LEAD + len(column.text))
        lane = column.lane
        if not lane.is_tool:
            running[lane] = 1
        rows[lane] += _dashes(running[lane], _LEAD) + column.text
        match column.letter:
            case "s":
                running[lane] += column.count
            case "f" | "x":
                # Calls that cannot be run fail without a start.
                running[lane] = max(running[lane] - column.count, 0)
            case "F" | "#":
                running[lane] = 0
            case _:
                pass
    yield from rows.items()


def _dashes(running: int, width: int) -> str:
    return ("-" if running else " ") * width


def _legend(columns: Iterable[_Column]) -> str:
    letters = {column.letter for column in columns}
    entries = [f"{key} {text}" for key, text in _MEANINGS.items() if key in letters]
    if any(column.count > 1 for column in columns):
        entries.append("a number counts them")
    return "; ".join(entries)


def _counted(usage: Usage) -> str:
    """Unknown is ``?``, never 0."""
    numbers = {
        "prompt tokens": usage.prompt_tokens,
        "read from cache": usage.cache_read_tokens,
        "written to cache": usage.cache_write_tokens,
        "output tokens": usage.output_tokens,
        "of them reasoning": usage.reasoning_tokens,
    }
    always = ("prompt tokens", "output tokens")
    entries = [
        f"{'?' if number is None else number} {name}"
        for name, number in numbers.items()
        if number or name in always
    ]
    text = ", ".join((*entries, _many(usage.requests, "request")))
    return text if usage.sure else f"{text}; not sure"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _paragraph(text: str, width: int) -> Iterator[str]:
    yield from wrap(
        _plain(text),
        max(width, _LEAST_ROOM),
        initial_indent="  ",
        subsequent_indent="    ",
    )


def _plain(text: str) -> str:
    """Names come from providers, and must not steer a terminal."""
    return "".join(each if each.isprintable() else "?" for each in text)
