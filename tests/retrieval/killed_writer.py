"""Replaces documents in a child until it is killed, at a random point, for each line.

Children are forked, so that the imports are paid once.  A line of the output is the
number of the last replacement that the child has told of.
"""

from __future__ import annotations

import os
import random
import signal
import sys

from rxagent.memory import LexicalEmbedder
from rxagent.retrieval import Document, SqliteDocuments
from rxagent.runtime import run

COUNT = 12
"""How many documents are replaced at once; enough for a kill to fall between two."""


def replaced(number: int) -> list[Document]:
    return [
        Document(
            id=f"{place}", text=f"harbour number{number}", metadata={"number": number}
        )
        for place in range(COUNT)
    ]


def replace_all(path: str, number: int, told: int) -> None:
    index = SqliteDocuments(path, embedder=LexicalEmbedder())
    while True:
        run(index.add(replaced(number)))
        os.write(told, b".")
        number += 1


def replace_until_killed(path: str, number: int, chance: random.Random) -> int:
    told, telling = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            replace_all(path, number, telling)
        finally:
            os._exit(1)
    os.close(telling)
    seen = os.read(told, 1)
    for _ in range(chance.randrange(200_000)):
        pass  # somewhere within the next ones
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(told, 100):
        seen += more
    os.close(told)
    return number + len(seen) - 1


if __name__ == "__main__":
    chance = random.Random(7)
    for line in sys.stdin:
        last = replace_until_killed(sys.argv[1], int(line), chance)
        sys.stdout.write(f"{last}\n")
        sys.stdout.flush()
