"""A child that works until it is killed, at a random point."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

__all__ = ["answering", "told_until_killed"]


@contextmanager
def answering(module: ModuleType, path: Path) -> Generator[Callable[[int], int]]:
    """Run a module that gets a path, and answers each number with a number."""
    with subprocess.Popen(
        [sys.executable, "-m", module.__name__, str(path)],
        cwd=Path(__file__).parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        numbers, answers = running.stdin, running.stdout

        def answer(number: int) -> int:
            print(number, file=numbers, flush=True)
            return int(answers.readline())

        yield answer
        numbers.close()


def told_until_killed(
    work: Callable[[int], None], *, least: int, chance: random.Random
) -> int:
    """Return how often ``work`` has told of something before it was killed.

    Args:
        work: Goes on for ever, in a forked child, so that its imports are paid once;
            writes a byte to the file descriptor that it gets for each thing done.
        least: How often it may tell before it is killed, shortly after.
        chance: Where that is.
    """
    told, telling = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work(telling)
        finally:
            os._exit(1)
    os.close(telling)
    seen = b"".join(os.read(told, 1) for _ in range(least))
    for _ in range(chance.randrange(200_000)):
        pass  # somewhere within the next ones
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(told, 100):
        seen += more
    os.close(told)
    return len(seen)
