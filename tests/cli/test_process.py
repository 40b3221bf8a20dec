from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.servers import ChatServer, called, error, never, streamed

SECONDS = 30.0  # a bound for a stuck child, not a measure
# As the installed command does it, whatever the test runner does with Ctrl-C.
PROGRAM = """\
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from rxagent.cli import main
sys.exit(main())
"""


def environment(**more: str) -> dict[str, str]:
    kept = {key: text for key, text in os.environ.items() if "OPENAI" not in key}
    return {**kept, **more}


def command(server: ChatServer, *arguments: str) -> list[str]:
    model = ["--model", "openai:test-model", "--base-url", server.base_url]
    return [sys.executable, "-c", PROGRAM, "ask", *model, *arguments]


@contextmanager
def running(
    arguments: list[str], *, cwd: Path | None = None
) -> Generator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        arguments,
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def read_until(stream: IO[bytes] | None, end: bytes) -> bytes:
    assert stream is not None
    read = b""
    while not read.endswith(end):
        piece = stream.read(1)
        assert piece, f"it ended after {read!r}"
        read += piece
    return read


@pytest.mark.parametrize(
    "program", [["-m", "rxagent"], ["-c", PROGRAM]], ids=["module", "script"]
)
def test_the_command_answers_in_a_process_of_its_own(program: list[str]) -> None:
    with ChatServer(streamed("Hel", "lo")) as server:
        options = command(server)[3:]
        done = subprocess.run(
            [sys.executable, *program, *options],
            input=b"hi",
            env=environment(),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"Hello\n", b"")


def test_exit_code_1_is_the_models_and_2_is_the_users() -> None:
    with ChatServer(error(401, "wrong")) as server:
        for arguments, code in (
            (command(server, "hi"), 1),
            (command(server, "--tools", "nowhere_to_be_found", "hi"), 2),
            (command(server, "--max-tokens", "no", "hi"), 2),
        ):
            with running(arguments) as child:
                _, err = child.communicate(timeout=SECONDS)
            assert child.returncode == code
            assert b"Traceback" not in err


def test_text_leaves_the_process_as_it_comes() -> None:
    with ChatServer(never("Hel")) as server, running(command(server, "hi")) as child:
        assert read_until(child.stdout, b"Hel") == b"Hel"


def test_ctrl_c_hangs_up_and_is_code_130() -> None:
    with ChatServer(never("Hel")) as server, running(command(server, "hi")) as child:
        read_until(child.stdout, b"Hel")
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=SECONDS)
        assert server.hung_up.wait(SECONDS)
    assert child.returncode == 130
    assert (out, err) == (b"\n", b"rxagent: interrupted\n")


def test_ctrl_c_works_before_anything_has_come() -> None:
    with ChatServer(never()) as server, running(command(server, "hi")) as child:
        assert server.was_asked.wait(SECONDS)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=SECONDS)
    assert (child.returncode, err) == (130, b"rxagent: interrupted\n")


def test_a_second_ctrl_c_does_not_wait_for_a_tool(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(
        "import threading\n"
        "from rxagent import tool\n"
        "@tool\n"
        "def wait() -> None:\n"
        "    threading.Event().wait()\n"
    )
    with (
        ChatServer(called("wait")) as server,
        running(command(server, "--tools", "stuck", "hi"), cwd=tmp_path) as child,
    ):
        read_until(child.stderr, b"-> wait {}\n")
        child.send_signal(signal.SIGINT)
        read_until(child.stderr, b"rxagent: interrupted\n")
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=SECONDS)
    assert (child.returncode, err) == (-signal.SIGINT, b"")


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_a_reader_that_goes_away_is_no_failure(options: tuple[str, ...]) -> None:
    more_than_a_pipe_holds = ["words " * 1000] * 100
    with (
        ChatServer(streamed(*more_than_a_pipe_holds)) as server,
        running(command(server, *options, "hi")) as child,
    ):
        assert child.stdout is not None
        child.stdout.read(10)
        child.stdout.close()
        assert child.stderr is not None
        err = child.stderr.read()
        child.wait(SECONDS)
    assert (child.returncode, err) == (0, b"")


def test_a_full_disk_is_one_line_and_code_1() -> None:
    with ChatServer(streamed("Hello")) as server, open("/dev/full", "wb") as full:
        done = subprocess.run(
            command(server, "hi"),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"rxagent: cannot write the answer: ")
    assert done.stderr.count(b"\n") == 1


def test_a_closed_stdout_is_one_line_and_code_1() -> None:
    with ChatServer(streamed("Hello")) as server:
        done = subprocess.run(
            ["sh", "-c", 'exec "$@" >&-', "sh", *command(server, "hi")],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(),
            timeout=SECONDS,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"rxagent: cannot write the answer: stdout is closed\n"


def test_a_letter_that_the_terminal_lacks_does_not_end_the_answer() -> None:
    with ChatServer(streamed("12 ", "°C", " ☀")) as server:
        done = subprocess.run(
            command(server, "hi"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(PYTHONIOENCODING="latin-1"),
            timeout=SECONDS,
            check=False,
        )
    assert (done.returncode, done.stdout) == (0, b"12 \xb0C \\u2600\n")


def test_help_waits_for_nothing_heavy() -> None:
    program = (
        "import sys, rxagent.cli\n"
        "heavy = ('httpx', 'jsonschema', 'xllamacpp', 'rxagent.models')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    assert done.stdout == b"[]\n"
