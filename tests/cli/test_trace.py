from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rxagent.agent import Agent
from rxagent.cli import main
from rxagent.cli.json_line import json_line
from rxagent.cli.trace import mark_of_event
from rxagent.events import TextDelta
from rxagent.requests import Origin
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import tool
from rxagent.usage import Usage
from tests.servers import ChatServer, streamed

SECONDS = 30.0  # a bound for a stuck child, not a measure
USAGE = Usage(input_tokens=9, output_tokens=3, requests=1)


@tool
def weather(city: str) -> str:
    """Get the weather of a city."""
    return f"12 °C in {city}"


def turn(*texts: str) -> list[str]:
    """The lines of a turn that calls a tool and then says the texts."""
    calls = tool_call("weather", city="Oslo"), tool_call("weather", city="Rome")
    model = ScriptedModel(
        Reply(deltas=("I look.",), calls=calls, usage=USAGE),
        Reply(deltas=texts, usage=USAGE),
    )
    return [json_line(event) for event in Agent(model, tools=[weather]).stream("hi")]


DRAWN = """\
turn 1: 2 rounds, 2 tool runs
  agent   --t--c2--R----------t2--(F,|)
  weather             s2--f2
  t text; c tool call being written; R round ends, tools run; s tool starts; f
    tool ends; F finished; a number counts them
  ended: stop, by scripted
  usage: 18 prompt tokens, 6 output tokens, 2 requests
"""


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def write(folder: Path, *lines: str) -> str:
    path = folder / "events.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def test_a_turn_is_drawn_with_its_rounds_tools_legend_and_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", write(tmp_path, *turn("It is ", "cold."))]) == 0
    assert capsys.readouterr() == (DRAWN, "")


@pytest.mark.parametrize("arguments", [[], ["-"]], ids=["piped", "dash"])
def test_events_may_come_from_stdin(
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = "\n".join(turn("It is ", "cold.")).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["trace", *arguments]) == 0
    assert capsys.readouterr().out == DRAWN


def test_what_ask_writes_is_what_trace_reads(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(streamed("Hel", "lo")) as server:
        model = ("--model", "openai:m", "--base-url", server.base_url)
        assert main(["ask", "--json", *model, "hi"]) == 0
    data = capsys.readouterr().out.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["trace"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "turn 1: 1 round, 0 tool runs",
        "  agent --t2--(F,|)",
        "  t text; F finished; a number counts them",
        "  ended: stop, by test-model",
        "  usage: 9 prompt tokens, 3 output tokens, 1 request",
    ]


def test_each_turn_is_a_picture_also_when_two_are_mixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = turn("a"), turn("b", "c", "d")
    mixed = [line for pair in zip(first, second, strict=False) for line in pair]
    rest = second[len(first) :]
    assert main(["trace", write(tmp_path, *mixed, "", *rest)]) == 0
    one, two = capsys.readouterr().out.split("\n\n")
    assert one.startswith("turn 1: 2 rounds, 2 tool runs\n")
    assert "t--(F,|)" in one
    assert two.startswith("turn 2: 2 rounds, 2 tool runs\n")
    assert "t3--(F,|)" in two


def test_a_turn_is_drawn_as_soon_as_it_is_finished() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "rxagent", "trace"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "COLUMNS": "80"},
    ) as child:
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            for line in turn("It is ", "cold."):
                child.stdin.write(f"{line}\n".encode())
            child.stdin.flush()
            assert child.stdout.read(len(DRAWN)) == DRAWN.encode()
            child.stdin.close()
            assert child.wait(SECONDS) == 0
        finally:
            child.kill()


def test_a_recording_that_stops_is_drawn_up_to_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", write(tmp_path, *turn("x")[:5])]) == 0
    assert "  agent   --t--c2--R-----#\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (turn("x")[-1][:-30], "it is no JSON"),
        ("\xff", "it is no JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "type is missing"),
        ('{"type": "TextDelta"}', "origin.path is missing"),
    ],
    ids=["cut", "text", "deep", "list", "no-origin"],
)
def test_a_bad_line_is_named_after_what_came_before_is_drawn(
    line: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = turn("x")
    path = write(tmp_path, *events, "", *events[:2], line, *events[2:])
    assert main(["trace", path]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"rxagent: line {len(events) + 4} is no recorded event: ")
    assert says in err
    assert err.count("\n") == 1
    whole, cut = out.split("\n\n")
    assert "(F,|)" in whole
    assert "  agent --t--c--#\n" in cut


def test_a_line_that_is_not_utf8_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"type": "\xff"}\n')
    assert main(["trace", str(path)]) == 1
    assert "line 1 is no recorded event" in capsys.readouterr().err


def test_a_narrower_page_may_be_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [line for number in range(9) for line in turn("x" * number)[:-1]]
    one_run = [
        json.dumps({**json.loads(line), "origin": json.loads(events[0])["origin"]})
        for line in events
    ]
    assert main(["trace", "--width", "40", write(tmp_path, *one_run)]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 40
    assert out.count("  agent ") > 2


@pytest.mark.parametrize("width", ["39", "wide"])
def test_a_page_that_is_too_narrow_is_wrong_usage(width: str) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["trace", "--width", width])
    assert exit_.value.code == 2


@pytest.mark.parametrize("name", ["no-such-file", "."])
def test_a_file_that_cannot_be_read_is_wrong_usage(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", str(tmp_path / name)]) == 2
    assert "rxagent: cannot read " in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["-"]], ids=["default", "dash"])
def test_no_events_and_a_closed_stdin_is_wrong_usage(
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["trace", *arguments]) == 2
    assert "no events" in capsys.readouterr().err


def test_no_events_on_a_terminal_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keyboard, screen = os.openpty()
    with open(screen) as terminal, open(keyboard, "rb"):
        monkeypatch.setattr(sys, "stdin", terminal)
        assert main(["trace"]) == 2
    assert "no events" in capsys.readouterr().err


def test_an_event_is_the_same_mark_live_and_recorded() -> None:
    event = TextDelta(text="\ud83d", origin=Origin(run_id="r", path=("a",), round=1))
    mark = mark_of_event(event)
    assert (mark.letter, mark.lane, mark.run_id, mark.round) == ("t", "a", "r", 1)
