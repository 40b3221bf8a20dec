from __future__ import annotations

from rxagent.integrations.redis import RedisStore
from rxagent.testing import assert_store_contract
from tests.integrations.database_servers import DatabaseServer


def test_the_store_in_redis_keeps_the_contract(redis: DatabaseServer) -> None:
    assert_store_contract(RedisStore(redis.url))
