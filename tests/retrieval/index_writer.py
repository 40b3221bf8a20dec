"""Adds documents to a file, as a process of its own.

python index_writer.py FILE PREFIX COUNT
"""

from __future__ import annotations

import sys

from rxagent.memory import LexicalEmbedder
from rxagent.retrieval import Document, SqliteDocuments
from rxagent.runtime import run

if __name__ == "__main__":
    path, prefix, count = sys.argv[1:]
    with SqliteDocuments(path, embedder=LexicalEmbedder()) as index:
        for number in range(int(count)):
            run(index.add([Document(id=f"{prefix}{number}", text="same")]))
