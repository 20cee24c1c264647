"""redis+sentinel://: the primary is asked for, and followed when it moves."""

import threading
from collections.abc import Iterator

import pytest

from holdfast.errors import InvalidInput, StoreError, StoreUnavailable
from holdfast.model.query import Query
from holdfast.model.verdict import done
from holdfast.store.connect import connect, describe_url
from holdfast.store.redis import addresses
from holdfast.store.redis.store import RedisStore
from holdfast.testing.contract.sample_jobs import claimed, enlisted, job, pushed, state
from tests.support.servers_sentinel import SERVICE, WatchedPair
from tests.support.servers_tcp import TcpServer, until
from tests.support.servers_valkey import new_namespace


@pytest.fixture(scope="module")
def pair() -> Iterator[WatchedPair]:
    opened = WatchedPair("--appendonly", "no")
    yield opened
    opened.stop()


def test_the_primary_is_found_through_its_sentinels(pair: WatchedPair) -> None:
    store = connect(pair.url, namespace=new_namespace())
    job_id = pushed(store)
    assert store.settle([done(claimed(store, enlisted(store)))]) == []
    assert state(store, job_id) == "succeeded"
    assert pair.primary.info("keyspace"), "it is there that the job was stored"
    store.close()


def test_a_sentinel_that_is_dead_does_not_matter(pair: WatchedPair) -> None:
    dead = TcpServer()
    dead.stop()
    store = connect(f"redis+sentinel://{dead.name},{pair.sentinels[1].name}/{SERVICE}/1", namespace=new_namespace())
    pushed(store)
    assert "db1" in pair.primary.info("keyspace"), "the URL asks for database 1"
    store.close()


def test_a_service_that_no_sentinel_watches_is_told_with_those_they_do(pair: WatchedPair) -> None:
    url = f"redis+sentinel://{pair.sentinels[0].name}/shop"
    with pytest.raises(StoreUnavailable, match=rf"watches no service 'shop' \(it watches: {SERVICE}\)"):
        connect(url)


def test_sentinels_that_are_not_there_are_told_as_such() -> None:
    dead = TcpServer()
    dead.stop()
    with pytest.raises(StoreUnavailable, match=rf"no sentinel can be reached \({dead.name}: .*Is one running"):
        connect(f"redis+sentinel://{dead.name}/{SERVICE}")


@pytest.mark.parametrize("path", ["", "/", "/jobs/first"])
def test_a_url_without_a_service_is_refused(path: str) -> None:
    with pytest.raises(InvalidInput, match="names sentinels and no service"):
        connect(f"redis+sentinel://localhost:26379{path}")


def test_passwords_of_servers_and_of_sentinels_are_two_and_neither_is_shown() -> None:
    url = "rediss+sentinel://ada:one@a,b:27000/jobs/2?sentinel_password=two"
    address = addresses.read(url)
    assert address.hosts == (("a", 26379), ("b", 27000))
    assert (address.options["username"], address.options["password"], address.options["db"]) == ("ada", "one", 2)
    assert address.sentinel_options is not None
    assert address.sentinel_options["password"] == "two"
    assert "username" not in address.sentinel_options
    assert describe_url(url) == "rediss+sentinel://ada:***@a,b:27000/jobs/2?sentinel_password=***"


def test_a_primary_that_has_become_a_replica_is_asked_for_again(pair: WatchedPair) -> None:
    """READONLY"""
    store = RedisStore.open(pair.url, where="pair", namespace=new_namespace())
    pushed(store)
    stale = store._link.wiring._primary[1]  # type: ignore[attr-defined]
    other = pair.replica if stale.name == pair.primary.name else pair.primary
    stale.client.connection_pool.disconnect()
    stale.client = other.client()
    pushed(store)
    assert store.inspector.count(Query()) == 2
    store.close()


def test_jobs_go_on_after_the_primary_was_killed(pair: WatchedPair) -> None:
    """I1, I32: what was copied is there, and service resumes by itself."""
    store = connect(f"{pair.url}?wait_replicas=1&wait_ms=5000", namespace=new_namespace())
    worker = enlisted(store, lease_s=60)
    store.push([job() for _ in range(20)])
    first = store.claim(worker, ["default"], 5)
    store.close()
    store = connect(pair.url, namespace=store._link.keys.namespace)  # type: ignore[attr-defined]
    is_over, known = threading.Event(), list[str]()

    def push() -> None:
        while not is_over.is_set():
            new = job("more")
            until(lambda: _works(store, new), 20, "service")  # noqa: B023 - called at once
            known.append(new.id)

    thread = threading.Thread(target=push)
    thread.start()
    until(lambda: len(known) > 10, 10, "pushes before the kill")
    pair.primary.kill()
    until(lambda: pair.named() == pair.replica.port, 20, "another primary")
    so_far = len(known)
    until(lambda: len(known) > so_far + 10, 20, "pushes after the kill")
    is_over.set()
    thread.join(20)
    assert store.settle([done(claim) for claim in first]) == []
    assert len(store.claim(worker, ["default"], 100)) == 15
    assert store.inspector.count(Query(states=("succeeded",))) == 5
    store.close()


def _works(store: object, new: object) -> bool:
    try:
        store.push([new])  # type: ignore[attr-defined]
    except StoreError:
        return False
    return True
