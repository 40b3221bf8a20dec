"""The lines of a session: typed, with editing and a history, or from a pipe."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from rxagent.errors import RequestError

__all__ = ["LineReader"]

_KEPT_LINES = 1000


class LineReader:
    """Reads one line after the other from stdin.

    On a terminal it shows a prompt, and the line can be edited; what was typed in this
    and in earlier sessions is a key away.  A session goes on without what is missing:
    the editor, or a place for the history.

    Args:
        prompt: Shown on a terminal only.
    """

    def __init__(self, prompt: str) -> None:
        # Python sets a closed stream to None, which typeshed does not say.
        self._stdin = sys.stdin or None
        self.is_typed = self._stdin is not None and self._stdin.isatty()
        """Whether somebody sits there, and not a pipe."""
        self._prompt = prompt
        self._prompts = self.is_typed and sys.stdout.isatty()
        self._editor = _editor() if self._prompts else None
        self._history = _history_file()
        self._last = ""
        if self._editor is not None:
            self._editor.set_auto_history(False)  # it would keep lines twice
            self._editor.set_history_length(_KEPT_LINES)
            with suppress(OSError):
                self._editor.read_history_file(str(self._history))

    def read(self) -> str | None:
        """Wait for the next line.

        Returns:
            The line without its end; ``None`` after the last one.

        Raises:
            RequestError: If the line is not UTF-8; the next one can be read.
            KeyboardInterrupt: On Ctrl-C; `unfinished` is what had been typed.
        """
        try:
            line = self._typed() if self._prompts else self._piped()
            if line is not None:
                line.encode()
        except UnicodeError:
            raise RequestError("this line is not UTF-8 text") from None
        if line:
            self._remember(line)
        return line

    def end_line(self) -> None:
        """Leave the cursor at the start of a line, after the end or Ctrl-C."""
        if self._prompts:
            print(flush=True)

    @property
    def unfinished(self) -> str:
        """What stands on the line that is edited, as far as that is known."""
        return self._editor.get_line_buffer() if self._editor is not None else ""

    def _typed(self) -> str | None:
        try:
            return input(self._prompt)
        except EOFError:
            return None

    def _piped(self) -> str | None:
        if self._stdin is None or not (line := self._stdin.buffer.readline()):
            return None
        return line.decode("utf-8-sig").rstrip("\r\n")

    def _remember(self, line: str) -> None:
        if self._editor is None or line == self._last:
            return
        self._last = line
        self._editor.add_history(line)
        with suppress(OSError):
            self._history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # What people tell a model is not for others to read.
            os.close(os.open(self._history, os.O_WRONLY | os.O_CREAT, 0o600))
            try:
                self._editor.append_history_file(1, str(self._history))
            except AttributeError:  # libedit, in the place of GNU readline
                self._editor.write_history_file(str(self._history))


class _Editor(Protocol):
    """The part of the module ``readline`` that is used here."""

    def add_history(self, line: str, /) -> None: ...
    def append_history_file(self, lines: int, path: str, /) -> None: ...
    def get_line_buffer(self) -> str: ...
    def read_history_file(self, path: str, /) -> None: ...
    def set_auto_history(self, enabled: bool, /) -> None: ...
    def set_history_length(self, lines: int, /) -> None: ...
    def write_history_file(self, path: str, /) -> None: ...


def _editor() -> _Editor | None:
    # Not every Python has it, and importing it touches the terminal.
    try:
        import readline
    except ImportError:
        return None
    return readline


def _history_file() -> Path:
    """Source: XDG Base Directory Specification, which ignores relative paths."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not state.is_absolute():
        state = Path.home() / ".local" / "state"
    return state / "rxagent" / "history"
