from __future__ import annotations

from pathlib import Path

from rxagent.integrations.sql import SqlStore
from rxagent.testing import assert_store_contract
from tests.integrations.database_servers import DatabaseServer


def test_the_store_in_postgres_keeps_the_contract(pg: DatabaseServer) -> None:
    assert_store_contract(SqlStore(pg.url))


def test_the_store_in_a_file_of_sqlite_keeps_the_contract(tmp_path: Path) -> None:
    assert_store_contract(SqlStore(f"sqlite:///{tmp_path / 'chat.db'}"))
