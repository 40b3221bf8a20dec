from __future__ import annotations

import io
import logging

import pytest

from rxagent.cli import main
from rxagent.cli.log_lines import log_lines
from rxagent.cli.terminal import Terminal
from rxagent.cli.visible import visible
from rxagent.events import ChatEvent, TextDelta, ToolFinished, ToolProgress, ToolStarted
from rxagent.messages import ToolCall, ToolMessage

TITLE = "\x1b]0;TITLE\x07"
STEERING = f"{TITLE}\x1b[2J\x9b31m\r\b\x7f\u202eevil\u2066"


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def shown(out: io.StringIO, *events: ChatEvent) -> tuple[str, str]:
    """What comes to stdout, and to stderr."""
    notes = io.StringIO()
    terminal = Terminal(out=out, notes=notes)
    for event in events:
        terminal.show(event)
    return out.getvalue(), notes.getvalue()


def test_what_would_steer_a_terminal_is_written_out() -> None:
    assert visible(STEERING) == (
        r"\x1b]0;TITLE\x07\x1b[2J\x9b31m\r\x08\x7f\u202eevil\u2066"
    )


def test_all_other_text_stays_as_it_is() -> None:
    text = "a\tb\nc 北京 שלום é \U0001f469\u200d\U0001f680 \N{NO-BREAK SPACE} \\x1b"

    assert visible(text) == text


def test_a_terminal_is_not_steered_by_the_text_of_a_model_wherever_it_is_cut() -> None:
    out, _ = shown(Screen(), *(TextDelta(text=each) for each in STEERING))

    assert out == visible(STEERING)


def test_a_pipe_gets_the_text_of_a_model_as_it_is() -> None:
    out, _ = shown(io.StringIO(), TextDelta(text=STEERING))

    assert out == STEERING


def test_no_line_to_stderr_steers_a_terminal() -> None:
    call = ToolCall(id="c", name="weather", arguments=TITLE)
    failure = ToolMessage.of(TITLE, call=call, is_error=True)

    _, notes = shown(
        io.StringIO(),
        ToolStarted(call=call),
        ToolProgress(call=call, value=TITLE),
        ToolFinished(call=call, message=failure),
    )

    assert "TITLE" in notes
    assert notes == visible(notes)


def test_neither_does_an_error_or_what_is_logged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["ask", "--model", f"{TITLE}:m", "q"]) == 2
    notes = io.StringIO()
    with log_lines(notes):
        logging.getLogger("rxagent.tools").warning("it said %s", TITLE)

    for line in (capsys.readouterr().err, notes.getvalue()):
        assert "TITLE" in line
        assert line == visible(line)
