"""What only a cluster has to get right: slots that move, nodes that die, clocks that differ, a house that forgets."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import pytest
from redis.crc import key_slot

from holdfast.errors import InvalidInput, StoreError, StoreUnavailable, StoreUnsafe
from holdfast.model.query import Query
from holdfast.model.verdict import done
from holdfast.model.worker import WorkerRecord
from holdfast.store.connect import connect
from holdfast.store.redis import bell
from holdfast.store.redis import link as link_module
from holdfast.store.redis.link import Link
from holdfast.store.redis.order import Order
from holdfast.store.redis.store import RedisStore
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import claimed, enlisted, job, jobs, pushed, record, state
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.support.servers_cluster import ClusterNode, ClusterServer, shared_cluster
from tests.support.servers_tcp import TcpServer, until
from tests.support.servers_valkey import new_namespace

T = TypeVar("T")

LEASE_US = 60_000_000
QUEUES = ("a", "b", "c")
"""One on each node."""
_PARTIAL = ("--cluster-require-full-coverage", "no")


@pytest.fixture
def namespace() -> str:
    return new_namespace()


@pytest.fixture
def store(namespace: str) -> Iterator[RedisStore]:
    url = shared_cluster().url
    opened = RedisStore.open(url, where=url, namespace=namespace)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def replicated() -> Iterator[ClusterServer]:
    """A cluster in which each primary has a replica, and which notices deaths soon."""
    opened = ClusterServer(*_PARTIAL, "--cluster-replica-validity-factor", "0", replicas=1, node_timeout_ms=1000)
    yield opened
    opened.stop()


# --- opening ------------------------------------------------------------------------------------------------


def test_queues_lie_on_all_nodes(store: RedisStore, namespace: str) -> None:
    store.push([job(queue) for queue in QUEUES])
    holders = {shared_cluster().holder(f"{{{queue}}}") for queue in QUEUES}
    assert len(holders) == 3
    for queue in QUEUES:
        assert shared_cluster().holder(f"{{{queue}}}").ask("EXISTS", f"{namespace}:{{{queue}}}:head") == 1


def test_a_seed_that_is_dead_does_not_matter(namespace: str) -> None:
    dead = TcpServer()
    dead.stop()
    opened = connect(f"redis://{dead.name},{shared_cluster().primaries[1].name}", namespace=namespace)
    pushed(opened)
    assert opened.inspector.count(Query()) == 1
    opened.close()


def test_one_seed_is_enough_to_find_all_nodes(namespace: str) -> None:
    opened = connect(shared_cluster().primaries[2].url, namespace=namespace)
    opened.push([job(queue) for queue in QUEUES])
    assert opened.inspector.count(Query()) == 3
    opened.close()


def test_several_servers_that_are_no_cluster_are_refused() -> None:
    server = TcpServer("--appendonly", "no")
    try:
        with pytest.raises(InvalidInput, match=r"names 2 servers, and they are no cluster.*redis\+sentinel://"):
            connect(f"{server.url},{server.name}")
    finally:
        server.stop()


def test_another_database_than_the_first_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"kept in database 0, and the URL asks for database 3.*namespace"):
        connect(f"{shared_cluster().url}/3")


@pytest.mark.parametrize("place", range(3))
def test_one_node_that_may_evict_jobs_is_enough_to_refuse_and_is_named(place: int) -> None:
    node = shared_cluster().primaries[place]
    node.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    try:
        with pytest.raises(StoreUnsafe, match=f"node {node.name}, has maxmemory-policy allkeys-lru"):
            connect(shared_cluster().url)
    finally:
        node.ask("CONFIG", "SET", "maxmemory-policy", "noeviction")


def test_the_weakest_node_decides_the_tier() -> None:
    first, second, _ = shared_cluster().primaries
    for node in (first, second):
        node.ask("CONFIG", "SET", "appendonly", "yes")
    try:
        opened = connect(shared_cluster().url)
        assert opened.describe().tier == "volatile"
        opened.close()
        with pytest.raises(StoreUnsafe, match=f"node {shared_cluster().primaries[2].name}, is 'volatile'"):
            connect(shared_cluster().url, tier="fast")
    finally:
        for node in (first, second):
            node.ask("CONFIG", "SET", "appendonly", "no")


def test_the_doctor_tells_of_the_cluster_and_of_each_node(store: RedisStore) -> None:
    findings = store.inspector.examine()
    told = {finding.what: finding for finding in findings}
    assert told["cluster"].detail == "3 primaries, 16,384 of 16,384 slots served"
    assert told["replicas"].level == "warn"
    assert told["clocks"].level == "ok"
    assert sum(finding.what == "server" for finding in findings) == 3


def test_a_forked_child_and_its_parent_both_go_on(store: RedisStore) -> None:
    store.push([job(queue) for queue in QUEUES])
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        code = 1
        try:
            store.push([job(queue) for queue in QUEUES])
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    store.push([job(queue) for queue in QUEUES])
    assert store.inspector.count(Query()) == 9


# --- slots that move ----------------------------------------------------------------------------------------


class _Move:
    """A slot on its way from one node to another, by hand."""

    def __init__(self, cluster: ClusterServer, tag: str, to: ClusterNode | None = None) -> None:
        self._slot = key_slot(tag.encode())
        self._source = cluster.holder(f"{{{tag}}}")
        self._target = to or next(node for node in cluster.primaries if node is not self._source)
        self._all = cluster.primaries

    def begin(self) -> None:
        self._target.ask("CLUSTER", "SETSLOT", self._slot, "IMPORTING", self._source.id)
        self._source.ask("CLUSTER", "SETSLOT", self._slot, "MIGRATING", self._target.id)

    def carry(self) -> None:
        """Move all keys."""
        while keys := self._source.ask("CLUSTER", "GETKEYSINSLOT", self._slot, 100):
            assert isinstance(keys, list)
            self._source.ask("MIGRATE", "127.0.0.1", self._target.port, "", 0, 5000, "KEYS", *keys)

    def finish(self) -> None:
        for node in (self._target, self._source, *self._all):
            node.ask("CLUSTER", "SETSLOT", self._slot, "NODE", self._target.id)

    def back(self) -> "_Move":
        other = object.__new__(_Move)
        other._slot, other._source, other._target = self._slot, self._target, self._source
        other._all = self._all
        return other


@pytest.fixture
def move() -> Iterator[_Move]:
    """The slot of queue `moving`, which is brought back afterwards."""
    found = _Move(shared_cluster(), "moving")
    yield found
    back = found.back()
    back.begin()
    back.carry()
    back.finish()


def test_a_queue_that_has_moved_is_followed(store: RedisStore, move: _Move) -> None:
    """MOVED"""
    worker, ids = enlisted(store), [pushed(store, "moving") for _ in range(3)]
    claim = claimed(store, worker, "moving")
    move.begin()
    move.carry()
    move.finish()
    assert store.settle([done(claim)]) == []
    assert {one.id for one in store.claim(worker, ["moving"], 5)} == set(ids[1:])
    assert store.push([job("moving")])[0].decision == "created"


def test_what_lies_on_the_new_node_already_is_read_there(store: RedisStore, move: _Move) -> None:
    """ASK: of a slot whose keys have moved and which still belongs to the old node."""
    ids = {pushed(store, "moving") for _ in range(3)}
    move.begin()
    move.carry()
    heads = store._link.ask(("HLEN", store._link.keys.in_queue("moving", "head")))
    owner = store._link.wiring.node_for(store._link.keys.in_queue("moving", "head"))
    assert heads == [3]
    assert owner.name == move._source.name, "the map is not changed by it"
    move.finish()
    assert {one.id for one in store.inspector.find(Query(queue="moving"))} == ids


def test_a_step_on_a_queue_that_is_half_moved_is_put_off_and_then_done_once(store: RedisStore, move: _Move) -> None:
    """TRYAGAIN: half a queue is never seen."""
    pushed(store, "moving")
    move.begin()
    push = Call(lambda: store.push([job("moving")]))
    assert not push.is_back(0.1)
    move.carry()
    move.finish()
    assert [one.decision for one in push.result()] == ["created"]
    assert store.inspector.count(Query(queue="moving")) == 2


def test_a_move_that_takes_too_long_is_told_as_unavailable(
    store: RedisStore, move: _Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed(store, "moving")
    monkeypatch.setattr("holdfast.store.redis.patience._NOT_NOW_S", (0.0, 0.0))
    move.begin()
    try:
        with pytest.raises(StoreUnavailable, match=r"cannot do this now: .*slots are being moved.*CLUSTER INFO"):
            store.push([job("moving")])
    finally:
        move.carry()
        move.finish()
    pushed(store, "moving")


def test_nothing_is_lost_or_done_twice_while_a_queue_moves(store: RedisStore, move: _Move) -> None:
    worker = enlisted(store)
    ran: list[str] = []
    known: list[str] = []
    is_over = threading.Event()

    def push() -> None:
        while not is_over.is_set():
            batch = jobs(5, queue="moving")
            _insist(partial(store.push, batch))
            known.extend(new.id for new in batch)

    def work() -> None:
        while not (is_over.is_set() and len(ran) == len(known)):
            for claim in _insist(lambda: store.claim(worker, ["moving"], 10)):
                ran.append(claim.id)
                assert _insist(partial(store.settle, [done(claim)])) == []

    calls = [Call(push), Call(work)]
    until(lambda: len(ran) > 50, 20, "work before the move")
    move.begin()
    move.carry()
    move.finish()
    so_far = len(ran)
    until(lambda: len(ran) > so_far + 50, 20, "work after the move")
    is_over.set()
    for call in calls:
        call.result(20)
    assert sorted(ran) == sorted(known)


def _insist(act: Callable[[], T]) -> T:
    """Repeat a step until it works, as a worker does. It has to, within some seconds."""
    found: list[T] = []

    def has_worked() -> bool:
        try:
            found.append(act())
        except StoreError:
            return False
        return True

    until(has_worked, 20, "service")
    return found[0]


# --- nodes that die -----------------------------------------------------------------------------------------


def test_a_primary_that_is_killed_is_replaced_and_nothing_that_was_copied_is_lost(replicated: ClusterServer) -> None:
    """I1, I7: with WAIT. Every job is done, and done once; the worker goes on by itself."""
    opened = connect(f"{replicated.url}?wait_replicas=1&wait_ms=5000", namespace=new_namespace())
    plain = connect(replicated.url, namespace=new_namespace())
    opened.enlist(WorkerRecord("w", "here", 1, ("shop.send",), lease_us=LEASE_US))
    ran: list[str] = []
    known: list[str] = []
    is_over = threading.Event()

    def push() -> None:
        while not is_over.is_set():
            batch = [new for queue in QUEUES for new in jobs(2, queue=queue)]
            _insist(partial(opened.push, batch))
            known.extend(new.id for new in batch)

    def work() -> None:
        while not (is_over.is_set() and len(ran) == len(known)):
            for claim in _insist(lambda: opened.claim("w", QUEUES, 6)):
                ran.append(claim.id)
                _insist(partial(opened.settle, [done(claim)]))

    calls = [Call(push), Call(work)]
    until(lambda: len(ran) > 60, 20, "work before the kill")
    victim = replicated.holder("{a}")
    victim.kill()
    until(lambda: replicated.holder("{a}") is not victim, 20, "a replica that takes over")
    _insist(lambda: plain.push([job("a")]))
    plain.close()
    _start_as_replica(victim)  # until then no write is copied, and none is told as done
    so_far = len(ran)
    until(lambda: len(ran) > so_far + 60, 20, "work after the kill")
    is_over.set()
    for call in calls:
        call.result(30)
    assert sorted(ran) == sorted(known)
    assert opened.inspector.count(Query(states=("succeeded",))) == len(known)
    opened.close()


def _start_as_replica(node: ClusterNode) -> None:
    node.start()
    until(lambda: node.info("replication").get("master_link_status") == "up", 20, "the killed one as a replica")


def test_a_bell_whose_node_has_died_is_heard_at_another(
    replicated: ClusterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bell, "LOOK_S", 60.0)
    ears = min({replicated.holder(f"{{{queue}}}") for queue in QUEUES}, key=lambda node: node.port)
    queue = next(queue for queue in QUEUES if replicated.holder(f"{{{queue}}}") is not ears)
    opened = RedisStore.open(replicated.url, where="cluster", namespace=_namespace_not_on(replicated, ears))
    pushed(opened, queue)
    claimed(opened, enlisted(opened), queue)
    waiter = Call(lambda: opened.wait([queue], 60.0))
    work = opened._bells.work
    until(lambda: work._sleepers > 0 and work._listening.is_set(), 10, "a listener")
    rings = work._rings
    assert _hears(ears, opened)
    ears.kill()
    until(lambda: work._rings > rings, 10, "a new listener")
    opened.push([job(queue)])
    waiter.result(10)
    opened.close()


def _hears(node: ClusterNode, store: RedisStore) -> bool:
    return node.ask("PUBSUB", "NUMSUB", store._link.keys.bell) == [store._link.keys.bell.encode(), 1]


# --- a house that forgets -----------------------------------------------------------------------------------


def _house(namespace: str, name: str) -> tuple[ClusterNode, str]:
    key = f"{namespace}:{{~{namespace}}}:{name}"
    return shared_cluster().holder(key), key


def test_a_stamp_is_not_given_twice_by_a_house_that_has_lost_the_last_ones(store: RedisStore, namespace: str) -> None:
    """Two jobs of one stamp in two queues would be told apart by nobody: stamps are the order of arrival."""
    ids = [pushed(store, "a") for _ in range(3)]
    node, key = _house(namespace, "stamp")
    node.ask("DEL", key)
    ids += [pushed(store, "b") for _ in range(3)]
    assert [one.id for one in store.inspector.find(Query())] == ids[::-1]


def test_a_stamp_that_another_job_has_is_replaced(store: RedisStore, namespace: str) -> None:
    """A clock that was far ahead and is set back: nothing is overwritten, nothing taken for a duplicate."""
    node, key = _house(namespace, "stamp")
    node.ask("SET", key, "4000000000000000")
    first = pushed(store, "q")
    node.ask("SET", key, "4000000000000000")
    second = job("q")
    assert store.push([second])[0].decision == "created"
    assert {record(store, one).id for one in (first, second.id)} == {first, second.id}


def test_an_id_that_the_house_has_lost_is_still_a_duplicate_in_its_queue(store: RedisStore, namespace: str) -> None:
    """I3"""
    new = job("q")
    store.push([new])
    node, key = _house(namespace, "ids")
    node.ask("HDEL", key, new.id)
    assert store.inspector.get(new.id) is None
    assert store.push([new])[0].decision == "duplicate"
    assert store.inspector.count(Query(queue="q")) == 1
    assert record(store, new.id).id == new.id, "the house knows it again"


def test_what_a_worker_holds_that_the_house_has_forgotten_is_rescued_when_its_copy_ends(namespace: str) -> None:
    clock = VirtualClock()
    url = shared_cluster().url
    opened = RedisStore.open(url, where=url, namespace=namespace, clock=clock)
    worker, job_id = enlisted(opened, lease_s=10), pushed(opened, "q")
    claimed(opened, worker, "q")
    for name in ("leases", "workers", "lengths"):
        node, key = _house(namespace, name)
        node.ask("DEL", key)
    assert not opened.beat(worker).is_alive, "it is told"
    clock.advance(10)
    assert opened.rescue() == []
    assert state(opened, job_id) == "running", "it may not have heard of it yet"
    clock.advance(0.000_001)
    assert [one.jobs for one in opened.rescue()] == [(job_id,)]
    assert opened.rescue() == []
    assert record(opened, job_id).crashes == 1
    opened.close()


# --- one node that is down, and clocks ----------------------------------------------------------------------


def test_a_worker_beats_and_claims_from_other_queues_while_one_node_is_down() -> None:
    cluster = ClusterServer(*_PARTIAL, node_timeout_ms=1000)
    namespace = _namespace_not_on(cluster, cluster.holder("{a}"))
    opened = connect(cluster.url, namespace=namespace)
    try:
        worker = enlisted(opened)
        opened.push([job(queue) for queue in QUEUES])
        held = claimed(opened, worker, "a")
        cluster.holder("{a}").kill()
        assert opened.beat(worker).is_alive
        claims = _insist(lambda: opened.claim(worker, QUEUES, 5))
        assert {claim.queue for claim in claims} == {"b", "c"}
        assert opened.rescue() == []
        opened.tidy()
        with pytest.raises(StoreUnavailable):
            opened.push([job("a")])
        with pytest.raises(StoreUnavailable):
            opened.settle([done(held), *map(done, claims)])
        assert opened.settle([done(claim) for claim in claims]) == [], "they were carried out, and are not refused"
    finally:
        opened.close()
        cluster.stop()


def _namespace_not_on(cluster: ClusterServer, node: ClusterNode) -> str:
    names = (new_namespace() for _ in range(100))
    return next(name for name in names if cluster.holder(f"{{~{name}}}") is not node)


@pytest.mark.parametrize("ahead_s", [5000, -5000])
def test_a_lease_ends_in_time_where_the_clocks_of_house_and_queue_differ(
    namespace: str, monkeypatch: pytest.MonkeyPatch, ahead_s: int
) -> None:
    """What is copied is a length: each node counts it by its own clock."""
    real = Link._order

    def order(link: Link, call: link_module.Call, now_us: int | None) -> Order:
        assert now_us is not None
        return real(link, call, now_us + (ahead_s * 1_000_000 if call.queue is None else 0))

    monkeypatch.setattr(Link, "_order", order)
    clock, url = VirtualClock(), shared_cluster().url
    opened = RedisStore.open(url, where=url, namespace=namespace, clock=clock)
    worker = enlisted(opened, lease_s=10)
    opened.push(jobs(3, queue="q"))
    for _ in range(2):
        claimed(opened, worker, "q")
        clock.advance(9)
        assert opened.beat(worker).is_alive
    clock.advance(10)
    assert opened.rescue() == []
    clock.advance(0.000_001)
    assert opened._link.call("claim", "q", worker, 1, 0, "n" * 16, "", "", "", now_us=None) == b"lease"
    assert [len(one.jobs) for one in opened.rescue()] == [2]
    opened.close()
