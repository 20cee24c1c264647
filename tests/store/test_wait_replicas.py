"""`?wait_replicas=`: success is told when replicas have it, and not before."""

from collections.abc import Iterator

import pytest

from holdfast.errors import InvalidInput, StoreUnavailable
from holdfast.model.verdict import done
from holdfast.store.connect import connect
from holdfast.testing.contract.sample_jobs import claimed, enlisted, job, pushed, state
from tests.support.servers_tcp import HOST, TcpServer, until
from tests.support.servers_valkey import new_namespace, shared_server

Pair = tuple[TcpServer, TcpServer]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A primary and its replica."""
    primary = TcpServer("--appendonly", "no")
    replica = TcpServer("--appendonly", "no", "--replicaof", HOST, str(primary.port))
    until(lambda: primary.info("replication")["connected_slaves"] == 1, 10, "a replica")
    until(lambda: replica.info("replication")["master_link_status"] == "up", 10, "a replica that follows")
    yield primary, replica
    replica.stop()
    primary.stop()


def test_what_was_told_as_stored_is_on_the_replica(pair: Pair) -> None:
    primary, replica = pair
    store = connect(f"{primary.url}?wait_replicas=1", namespace=new_namespace())
    job_id = pushed(store)
    claim = claimed(store, enlisted(store))
    assert store.settle([done(claim)]) == []
    assert _waits(primary) >= 5, "one behind each step that writes: enlist, both halves of a push, claim, settle"
    primary.kill()
    replica.ask("REPLICAOF", "NO", "ONE")
    heir = connect(replica.url, namespace=store._link.keys.namespace)  # type: ignore[attr-defined]
    assert state(heir, job_id) == "succeeded"
    heir.close()
    store.close()


def _waits(server: TcpServer) -> int:
    found = server.info("commandstats").get("cmdstat_wait")
    return int(found["calls"]) if isinstance(found, dict) else 0


def test_a_write_that_no_replica_has_is_loud_and_may_be_repeated(pair: Pair) -> None:
    """I3, I32"""
    primary, replica = pair
    store = connect(f"{primary.url}?wait_replicas=1&wait_ms=50", namespace=new_namespace())
    worker, first, other = enlisted(store), pushed(store), pushed(store, "other")
    held = claimed(store, worker, "other")
    replica.kill()
    with pytest.raises(StoreUnavailable, match="repeating it is safe"):
        store.settle([done(held)])
    new = job()
    with pytest.raises(StoreUnavailable, match=r"0 of 1 replicas have it after 50 ms.*repeating it is safe"):
        store.push([new])
    with pytest.raises(StoreUnavailable, match="wait_replicas"):
        store.claim(worker, ["default"], 5)
    assert state(store, other) == "succeeded", "the primary has it; and reading waits for nobody"
    replica.start()
    until(lambda: primary.info("replication")["connected_slaves"] == 1, 10, "a replica")
    assert store.settle([done(held)]) == [], "it was carried out, and is not refused when it is repeated"
    assert store.settle([done(held)]) != [], "once it was answered, it is"
    assert store.push([new])[0].id == new.id
    claims = store.claim(worker, ["default"], 5)
    assert {claim.id for claim in claims} == {first, new.id}, "what the lost claim held is handed out again"
    assert store.settle([done(claim) for claim in claims]) == []
    store.close()


def test_a_server_with_fewer_replicas_than_are_waited_for_is_refused(pair: Pair) -> None:
    with pytest.raises(StoreUnavailable, match=r"has 1 connected replicas, and wait_replicas=2 asks for more"):
        connect(f"{pair[0].url}?wait_replicas=2")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("wait_replicas=0", "expected wait_replicas to be a whole number from 1 to 100, got: '0'"),
        ("wait_replicas=some", "expected wait_replicas to be a whole number from 1 to 100, got: 'some'"),
        ("wait_replicas=1&wait_ms=0", "expected wait_ms to be a whole number from 1 to 20,000, got: '0'"),
        ("wait_replicas=1&wait_ms=60000", "expected wait_ms to be a whole number from 1 to 20,000, got: '60000'"),
        ("wait_ms=5", "give wait_replicas=1 as well"),
    ],
)
def test_values_that_make_no_sense_are_refused(options: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        connect(f"{shared_server().url}?{options}")
