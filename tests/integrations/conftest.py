"""The database servers, one of each for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integrations.database_servers import (
    DatabaseServer,
    postgres,
    redis_server,
)


@pytest.fixture(scope="session")
def pg() -> Iterator[DatabaseServer]:
    with postgres() as server:
        yield server


@pytest.fixture(scope="session")
def redis() -> Iterator[DatabaseServer]:
    with redis_server() as server:
        yield server
