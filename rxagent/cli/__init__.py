"""The command line: one file a command."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import TextIO

from rxagent.cli import ask, chat, doctor, memory, trace
from rxagent.cli.visible import visible
from rxagent.errors import ConfigurationError, RequestError, RxAgentError

__all__ = ["main"]

_OK, _FAILED, _USAGE, _INTERRUPTED = 0, 1, 2, 130

_EXIT_CODES = """\
exit codes:
  0    all is well: also an answer that was blocked or limited, a reader that went away
  1    the model or a tool failed, or what is read is not as it should be
  2    wrong usage: an option, the prompt, the model or a tool is put together wrongly
  130  interrupted by Ctrl-C; a second Ctrl-C does not wait for running tools
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        argv: Without the program's name; else the process's own.

    Returns:
        The exit code; ``rxagent --help`` lists them.

    Raises:
        SystemExit: For ``--help``, and with code 2 for wrong usage.
    """
    arguments = _parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    # A character that the terminal cannot show must not end the answer.  Streams that
    # somebody put in stdout's place may lack the method.
    reconfigure: Callable[..., None] | None = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    # Python sets a closed stream to None, which typeshed does not say.
    if (sys.stdout or None) is None:
        return _say("cannot write the answer: stdout is closed", _FAILED)
    try:
        return run(arguments)
    except (ConfigurationError, RequestError) as error:
        return _say(error, _USAGE)
    except RxAgentError as error:
        return _say(error, _FAILED)
    except BrokenPipeError:
        _write_nowhere(sys.stdout)
        _write_nowhere(sys.stderr)
        return _OK
    except OSError as error:
        _write_nowhere(sys.stdout)
        return _say(f"cannot write the answer: {error}", _FAILED)
    except KeyboardInterrupt:
        # What is left is to wait for threads; the next Ctrl-C ends that.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return _say("interrupted", _INTERRUPTED)
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        return _say(
            f"unexpected {type(error).__name__}: {error} "
            "(`python -X dev -m rxagent` shows where)",
            _FAILED,
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rxagent",
        description="Reactive streams for LLM agents.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action="version", version=f"rxagent {version('rxagent')}"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, command in {
        "ask": ask,
        "chat": chat,
        "memory": memory,
        "trace": trace,
        "doctor": doctor,
    }.items():
        subparser = commands.add_parser(
            name,
            help=command.HELP,
            description=command.DESCRIPTION,
            epilog=_EXIT_CODES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def _say(problem: object, code: int) -> int:
    """One line, whatever a provider put into its message."""
    print("rxagent:", visible(" ".join(str(problem).split())), file=sys.stderr)
    return code


def _write_nowhere(stream: TextIO) -> None:
    """Else Python complains at exit about what it could not write."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
