from __future__ import annotations

from pathlib import Path

from rxagent.memory import SqliteStore
from rxagent.testing import assert_store_contract


def test_the_store_in_a_file_keeps_the_contract(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "a.db") as store:
        assert_store_contract(store)


def test_the_store_in_a_database_in_memory_keeps_the_contract() -> None:
    with SqliteStore(":memory:") as store:
        assert_store_contract(store)
