"""The vectors of a SQLite file, in memory: a matrix that follows the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rxagent.errors import ConfigurationError
from rxagent.retrieval.embedding import Vector, check_length

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Matrix", "check_numpy", "packed"]


def check_numpy() -> None:
    """Refuse to go on without it.

    Raises:
        ConfigurationError: If it is not installed.
    """
    if find_spec("numpy") is None:
        raise ConfigurationError(
            "a search by meaning needs numpy: pip install 'rxagent[retrieval]'"
        )


def packed(vector: Vector) -> bytes:
    """A vector as a file has it: numbers of four bytes."""
    import numpy as np

    return np.asarray(vector, dtype="<f4").tobytes()


class Matrix:
    """Vectors of length one, each in the row of a document, sorted by row.

    A row is never used twice, so what is known of it stays true.  Used on one thread,
    with one connection, within a transaction.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        import numpy as np

        self._np = np
        self._connection = connection
        self._version: tuple[int, int] | None = None
        self._rows: NDArray[np.int64] = np.empty(0, np.int64)
        self._vectors: NDArray[np.float32] = np.empty((0, 0), np.float32)

    def follow(self) -> None:
        """Read what has changed."""
        one = self._connection.execute
        # What other connections wrote, and what this one did.
        (others,) = one("PRAGMA data_version").fetchone()
        version = (others, self._connection.total_changes)
        if version == self._version:
            return
        np = self._np
        cursor = one("SELECT row FROM vectors ORDER BY row")
        there = np.fromiter((row for (row,) in cursor), np.int64)
        kept = np.isin(self._rows, there, assume_unique=True)
        last = int(self._rows[-1]) if len(self._rows) else 0
        cursor = one("SELECT vector FROM vectors WHERE row > ? ORDER BY row", (last,))
        read = b"".join(vector for (vector,) in cursor)
        count = len(there) - int(kept.sum())
        if count:
            new = np.frombuffer(read, "<f4").reshape(count, -1)
            old = self._vectors[kept] if kept.any() else np.empty((0, new.shape[1]))
            self._vectors = np.concatenate([old, new], dtype=np.float32)
        elif not kept.all():
            self._vectors = self._vectors[kept]
        self._rows = there
        self._version = version

    def nearest(
        self,
        wanted: Vector,
        *,
        limit: int,
        least: float,
        among: tuple[str, Sequence[object]] | None,
    ) -> list[tuple[int, float]]:
        """The rows whose vectors are closest, and their cosines, the closest first.

        Args:
            wanted: Of length one.
            limit: How many at most.
            least: Of the cosines.
            among: A query for the rows to look at, some more than once; by default all.
        """
        if not len(self._rows):
            return []
        check_length(len(wanted), self._vectors.shape[1])
        np = self._np
        looked_at, vectors = self._rows, self._vectors
        if among is not None:
            places = np.flatnonzero(np.isin(looked_at, self._selected(*among)))
            looked_at, vectors = looked_at[places], vectors[places]
        scores = vectors @ np.asarray(wanted, np.float32)
        if limit < len(scores):
            # All that are as good as the last one, as the first of them are wanted.
            enough = np.partition(scores, -limit)[-limit]
            best = np.flatnonzero(scores >= max(enough, least))
        else:
            best = np.flatnonzero(scores >= least)
        best = best[np.argsort(-scores[best], kind="stable")][:limit]
        found = zip(looked_at[best].tolist(), scores[best].tolist(), strict=True)
        return [*found]

    def _selected(self, select: str, parameters: Sequence[object]) -> NDArray[np.int64]:
        # In one text, as a row of its own costs more than all the rest of a search.
        (rows,) = self._connection.execute(
            f"SELECT json_group_array(row) FROM ({select})", parameters
        ).fetchone()
        return self._np.fromstring(rows[1:-1], self._np.int64, sep=",")
