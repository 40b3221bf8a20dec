from __future__ import annotations

import asyncio
import gc
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from redis import Redis as BlockingRedis
from redis.asyncio import Redis, RedisCluster

from rxagent.errors import ConfigurationError, StoreError
from rxagent.integrations.redis import RedisStore
from rxagent.memory import Conversation, ConversationStore
from rxagent.messages import UserMessage
from rxagent.runtime import Flow, block, run
from rxagent.testing import assert_store_contract
from tests.integrations.database_servers import DatabaseServer, redis_cluster
from tests.integrations.store_writer import in_processes, write


@pytest.fixture
def prefix() -> str:
    """Of keys that no other test has."""
    return f"{uuid4().hex[:8]}:"


@pytest.fixture
def server(redis: DatabaseServer) -> Iterator[BlockingRedis]:
    """The server itself, to look at what is there."""
    with BlockingRedis.from_url(redis.url, decode_responses=True) as client:
        yield client


def texts(store: ConversationStore, conversation: str) -> list[str]:
    return [message.text for message in run(store.load(conversation)).messages]


def ids(store: ConversationStore, *, limit: int = 100) -> list[str]:
    return [info.id for info in block(store.conversations(limit=limit))]


def test_the_store_in_redis_keeps_the_contract(redis: DatabaseServer) -> None:
    """S003-9."""
    assert_store_contract(RedisStore(redis.url))


def test_a_cluster_will_do_too() -> None:
    with redis_cluster() as cluster:

        async def converse() -> list[object]:
            async with RedisCluster.from_url(cluster.url) as client:
                store = RedisStore(client)
                for which in ("a", "b{x}", "{x}c"):
                    await Flow[int].of(store.append(which, [UserMessage.of(which)]))
                found = [await Flow[Conversation].of(store.load("{x}c"))]
                await Flow[bool].of(store.delete("a"))
                left = [info.id async for info in Flow.of(store.conversations())]
                return [[each.text for each in found[0].messages], left]

        assert asyncio.run(converse()) == [["{x}c"], ["b{x}", "{x}c"]]


@pytest.mark.parametrize("decode_responses", [False, True])
def test_a_client_of_ones_own_may_decode_or_not_and_stays_open(
    redis: DatabaseServer, prefix: str, decode_responses: bool
) -> None:
    async def converse() -> list[str]:
        async with Redis.from_url(
            redis.url, decode_responses=decode_responses
        ) as client:
            store = RedisStore(client, prefix=prefix)
            await Flow[int].of(store.append("a", [UserMessage.of("Grüezi")]))
            found = await Flow[Conversation].of(store.load("a"))
            listed = [info.id async for info in Flow.of(store.conversations())]
            del store
            gc.collect()
            assert await client.exists(f"{prefix}conversation:a") == 1
            return [each.text for each in found.messages] + listed

    assert asyncio.run(converse()) == ["Grüezi", "a"]


def test_a_hundred_writers_at_once_lose_nothing(redis: DatabaseServer) -> None:
    """Sixty turns of threads here and forty turns in four other processes."""
    store, which = RedisStore(redis.url), uuid4().hex
    elsewhere = [[f"p{n}-{m}" for m in range(10)] for n in range(4)]
    here = [f"t{n}" for n in range(60)]

    with ThreadPoolExecutor(61) as pool:
        others = pool.submit(in_processes, "redis", redis.url, which, elsewhere)
        versions = [*pool.map(lambda name: write(store, which, name), here)]
        others.result()

    written = texts(store, which)
    assert len(set(versions)) == 60
    assert run(store.load(which)).version == 100
    assert sorted(written[::2]) == sorted(
        f"{name}?" for name in [*here, *(each for names in elsewhere for each in names)]
    )
    assert [said.replace("?", ".") for said in written[::2]] == written[1::2]


def test_deleting_leaves_no_key(
    redis: DatabaseServer, server: BlockingRedis, prefix: str
) -> None:
    store = RedisStore(redis.url, prefix=prefix)
    write(store, "a", "x")

    assert run(store.delete("a"))

    assert [*server.scan_iter(f"{prefix}*")] == []


def test_a_conversation_expires_so_long_after_its_last_write(
    redis: DatabaseServer, server: BlockingRedis, prefix: str
) -> None:
    key = f"{prefix}conversation:a"
    short = RedisStore(redis.url, prefix=prefix, expire_s=60)
    longer = RedisStore(redis.url, prefix=prefix, expire_s=3600)

    write(short, "a", "x")
    assert 0 < int(server.pttl(key)) <= 60_000
    write(longer, "a", "y")
    assert 60_000 < int(server.pttl(key)) <= 3_600_000
    write(RedisStore(redis.url, prefix=prefix), "a", "z")
    assert server.pttl(key) == -1
    assert len(texts(short, "a")) == 6


def test_what_has_expired_is_not_listed_and_leaves_no_id(
    redis: DatabaseServer, server: BlockingRedis, prefix: str
) -> None:
    store = RedisStore(redis.url, prefix=prefix)
    for which in "abcdef":
        write(store, which, "x")
    for which in "abd":
        server.delete(f"{prefix}conversation:{which}")  # as the server itself does

    assert ids(store, limit=2) == ["c", "e"]
    assert ids(store) == ["c", "e", "f"]
    assert server.zrange(f"{prefix}conversations", 0, -1) == ["c", "e", "f"]
    assert texts(store, "a") == []
    assert write(store, "a", "again") == 1
    assert ids(store) == ["a", "c", "e", "f"]


def test_what_is_written_while_it_is_deleted_is_listed_if_it_is_there(
    redis: DatabaseServer, server: BlockingRedis, prefix: str
) -> None:
    """In a cluster the list is a key elsewhere, so no script keeps the two in step."""
    store = RedisStore(redis.url, prefix=prefix)

    def act(number: int) -> None:
        if number % 2:
            write(store, f"{number % 3}", "x")
        else:
            run(store.delete(f"{number % 3}"))

    with ThreadPoolExecutor(8) as pool:
        assert len([*pool.map(act, range(240))]) == 240

    there = [key.rpartition(":")[2] for key in server.scan_iter(f"{prefix}*:*")]
    assert ids(store) == sorted(there)
    assert server.zrange(f"{prefix}conversations", 0, -1) == sorted(there)


def test_a_server_that_crashes_under_a_write_is_an_error_and_comes_back(
    redis: DatabaseServer, prefix: str
) -> None:
    store = RedisStore(redis.url, prefix=prefix)
    write(store, "a", "first")
    failed: list[Exception] = []
    ended = threading.Event()

    def fail(error: Exception) -> None:
        failed.append(error)
        ended.set()

    with redis.frozen():
        store.append("a", [UserMessage.of("lost")]).subscribe(
            on_error=fail, on_completed=ended.set
        )
        while not store._running:
            pass
        redis.crash()
        assert ended.wait(10)
    [error] = failed
    assert isinstance(error, StoreError)
    assert error.conversation == "a"
    assert "is not known" in str(error)
    assert error.__cause__ is not None

    with pytest.raises(StoreError, match="cannot be read"):
        run(store.load("a"))
    redis.start()
    assert texts(store, "a") == ["first?", "first."]
    assert write(store, "a", "second") == 2


def test_a_server_that_does_not_answer_is_an_error(
    redis: DatabaseServer, prefix: str
) -> None:
    write(RedisStore(redis.url, prefix=prefix), "a", "first")
    hasty = RedisStore(redis.url, prefix=prefix, timeout_s=0.2)

    with redis.frozen(), pytest.raises(StoreError) as failed:
        write(hasty, "a", "late")

    assert "within 0.2 s" in str(failed.value)
    assert "whether it was written is not known" in str(failed.value)
    assert texts(hasty, "a")[:2] == ["first?", "first."]


def test_what_was_begun_is_written_though_nobody_waits(
    redis: DatabaseServer, prefix: str
) -> None:
    store = RedisStore(redis.url, prefix=prefix)

    async def leave() -> None:
        subscription = store.append("a", [UserMessage.of("left")]).subscribe()
        while not store._running:
            await asyncio.sleep(0)
        subscription.dispose()
        while store._running:
            await asyncio.sleep(0)

    asyncio.run(leave())

    assert texts(store, "a") == ["left"]
    assert ids(store) == ["a"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://me:hunter2hunter2@127.0.0.1:9/3", "redis://127.0.0.1:9/3"),
        ("redis://127.0.0.1:9/3?password=hunter2hunter2", "redis://127.0.0.1:9/3"),
    ],
)
def test_a_password_is_shown_nowhere(url: str, shown: str) -> None:
    store = RedisStore(url)

    with pytest.raises(StoreError, match=f"cannot be written at {shown}") as failed:
        write(store, "a", "x")

    told = "".join(traceback.format_exception(failed.value))
    assert "hunter2" not in told + repr(store)
    assert repr(store) == f"RedisStore('{shown}')"


def test_a_key_that_is_something_else_is_an_error_and_stays(
    redis: DatabaseServer, server: BlockingRedis, prefix: str
) -> None:
    store = RedisStore(redis.url, prefix=prefix)
    server.set(f"{prefix}conversation:a", "something else")

    with pytest.raises(StoreError, match="WRONGTYPE") as failed:
        write(store, "a", "a private word".upper())

    assert "PRIVATE" not in "".join(traceback.format_exception(failed.value))
    assert server.get(f"{prefix}conversation:a") == "something else"


@pytest.mark.parametrize(
    "url", ["http://host", "host:6379", "redis://me:hunter2@host:port/0"]
)
def test_what_is_no_url_is_refused_when_it_is_built(url: str) -> None:
    with pytest.raises(ConfigurationError, match="write it like") as refused:
        RedisStore(url)

    assert "hunter2" not in "".join(traceback.format_exception(refused.value))


def test_a_time_is_above_zero() -> None:
    with pytest.raises(ConfigurationError, match="expire_s must be above 0, got 0"):
        RedisStore("redis://127.0.0.1:9", expire_s=0)
    with pytest.raises(ConfigurationError, match="timeout_s must be above 0, got -1"):
        RedisStore("redis://127.0.0.1:9", timeout_s=-1)


def test_connections_go_with_their_loop_and_with_their_store(
    redis: DatabaseServer, server: BlockingRedis, prefix: str
) -> None:
    name = f"{redis.url}?client_name={prefix[:-1]}"
    store = RedisStore(name, prefix=prefix)

    def opened() -> int:
        return sum(each["name"] == prefix[:-1] for each in server.client_list())

    async def converse(store: ConversationStore) -> int:
        await Flow[int].of(store.append("a", [UserMessage.of("x")]))
        return opened()

    assert asyncio.run(converse(store)) == 1
    while opened():  # the server needs a moment to notice
        pass
    write(store, "a", "x")  # on the loop in the background, which does not end
    assert opened() == 1
    del store
    gc.collect()
    while opened():
        pass
