"""Replaces documents in a child until it is killed, at a random point, for each line.

Children are forked, so that the imports are paid once.  A line of the output is the
number of the last replacement that the child has told of.
"""

from __future__ import annotations

import os
import random
import sys
from functools import partial

from rxagent.memory import LexicalEmbedder
from rxagent.retrieval import Document, SqliteDocuments
from rxagent.runtime import run
from tests.killing import told_until_killed

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


if __name__ == "__main__":
    chance = random.Random(7)
    for line in sys.stdin:
        work = partial(replace_all, sys.argv[1], int(line))
        told = told_until_killed(work, least=1, chance=chance)
        sys.stdout.write(f"{int(line) + told - 1}\n")
        sys.stdout.flush()
