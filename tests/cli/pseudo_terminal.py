"""A command in a child process, with a terminal that a test types on."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import IO

__all__ = ["SECONDS", "PseudoTerminal"]

SECONDS = 30.0  # a bound for a stuck child, not a measure
_PATIENCE_S, _PRESSES = 3.0, 10

# Opening the terminal makes it the one whose Ctrl-C reaches the child, which gets it as
# the installed command does, whatever the test runner does with it.
_PROGRAM = """\
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
os.close(os.open(os.ttyname(0), os.O_RDWR))
{first}
from rxagent.cli import main
sys.exit(main())
"""


class PseudoTerminal:
    """The terminal and the command; a context manager.

    Args:
        arguments: Of ``rxagent``.
        environment: Added to what a child needs.
        first: Python code that runs before the command.
        stdout: In the place of the terminal.
    """

    def __init__(
        self,
        *arguments: str,
        environment: Mapping[str, str],
        first: str = "",
        stdout: IO[bytes] | None = None,
    ) -> None:
        kept = {key: text for key, text in os.environ.items() if "OPENAI" not in key}
        self._terminal, screen = os.openpty()
        self.child = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM.format(first=first), *arguments],
            stdin=screen,
            stdout=screen if stdout is None else stdout,
            stderr=screen,
            env={**kept, "TERM": "dumb", "INPUTRC": os.devnull, **environment},
            start_new_session=True,
        )
        os.close(screen)

    def __enter__(self) -> PseudoTerminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self._terminal)

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._terminal, keys.encode())

    def shown_until(self, text: str) -> str:
        """Wait for a text, and return what is shown up to its end."""
        shown = b""
        while not shown.endswith(text.encode()):
            assert self._is_ready(SECONDS), f"no {text!r} came after {shown!r}"
            piece = self._read(1)
            assert piece, f"it ended after {shown!r}"
            shown += piece
        return shown.decode()

    def press_until_shown(self, keys: str, text: str) -> str:
        """Press again and again; return what is shown up to the end of ``text``.

        Python looks for signals between its own steps.  One that comes just before a
        step blocks, right after something was shown, is not seen before the next one.
        """
        shown = b""
        for _ in range(_PRESSES):
            self.press(keys)
            while self._is_ready(_PATIENCE_S):
                shown += self._read(1)
                if shown.endswith(text.encode()):
                    return shown.decode()
        raise AssertionError(f"{text!r} did not come after {shown!r}")

    def press_until(self, happened: threading.Event, keys: str) -> None:
        """Press again and again until something has happened."""
        for _ in range(_PRESSES):
            self.press(keys)
            if happened.wait(_PATIENCE_S):
                return
        raise AssertionError("it did not happen")

    def ended(self) -> tuple[int, str]:
        """Wait for the end of the command; return its code and what it showed."""
        shown = b""
        while self._is_ready(SECONDS) and (piece := self._read(4096)):
            shown += piece
        return self.child.wait(SECONDS), shown.decode()

    def _is_ready(self, timeout_s: float) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], timeout_s)
        return bool(ready)

    def _read(self, size: int) -> bytes:
        """Nothing is read when the child has closed the terminal."""
        try:
            return os.read(self._terminal, size)
        except OSError:  # Linux reports the end of the other side so
            return b""
