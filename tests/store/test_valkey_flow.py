"""What only the Redis/Valkey store has to get right about lanes and limits: cost, slices, lost answers, two at once."""

import re
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import StoreError
from holdfast.model.claim import Claim
from holdfast.model.queue import Breaker, Limits, QueueOverlay, QueuePolicy, Rate
from holdfast.model.verdict import done
from holdfast.policy.moments import SECOND
from holdfast.store.redis import keys, queues, scripts
from holdfast.store.redis.queues import RedisQueues, Terms
from holdfast.store.redis.store import RedisStore
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import claimed, claimed_ids, enlisted, failed, job, jobs, record, verdict
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.support.lost_answers import lose_answers
from tests.support.on_valkey import *  # noqa: F403 - fixtures
from tests.support.servers_valkey import ValkeyServer, new_namespace, shared_server

FREE = QueuePolicy()
STOPPED = QueuePolicy(lane_limits=Limits(Rate(0)))
ONE_EACH = QueuePolicy(lane_limits=Limits(max_running=1))


def lane_jobs(number: int) -> list[Any]:
    """Make jobs, each in a lane of its own."""
    return [job(lane=f"lane{place:05}") for place in range(number)]


def raw(store: RedisStore, command: str, key: str, *rest: object) -> Any:
    return store._link.ask((command, store._link.keys.in_queue("default", key), *rest))[0]


def next_look(store: RedisStore) -> str:
    """Tell what a waiter is told: when something can be claimed, '0' for now, '' for never."""
    moment: bytes = store._link.call("look", "default", now_us=None)[1]
    return moment.decode()


# --- cost -----------------------------------------------------------------------------------------------------------


def test_a_plain_queue_pays_nothing_for_lanes_and_limits(own: tuple[ValkeyServer, RedisStore]) -> None:
    """In commands that the scripts call; the bounds are what it paid when there were neither."""
    server, store = own
    worker, claims = enlisted(store), list[Claim]()

    def claim(number: int) -> None:
        claims[:] = store.claim(worker, ["default"], number)

    def settle() -> None:
        half = len(claims) // 2
        store.settle([done(claims.pop()) for _ in range(half)])

    assert server.commands_of(lambda: store.push(jobs(1))) <= 21
    assert server.commands_of(lambda: store.push(jobs(10))) <= 82
    store.push(jobs(100))
    assert server.commands_of(lambda: claim(1)) <= 16
    assert server.commands_of(lambda: claim(10)) <= 61
    claim(40)
    assert server.commands_of(settle) <= 77, "ten verdicts"
    assert raw(store, "HGETALL", "meta") == {b"order": b"fifo"}


def test_a_claim_among_many_lanes_does_as_many_steps_as_one_among_few(own: tuple[ValkeyServer, RedisStore]) -> None:
    """Held back or not."""
    server, store = own
    worker = enlisted(store)
    store.queues.set_policy("default", QueuePolicy(lane_limits=Limits(Rate(3600 * SECOND, 2))))
    store.push(lane_jobs(40))
    few = server.commands_of(lambda: store.claim(worker, ["default"], 5))
    store.push([*lane_jobs(2000), *lane_jobs(2000), *lane_jobs(2000)])
    for _ in range(6):
        assert len(store.claim(worker, ["default"], 500)) == 500
    assert raw(store, "ZCARD", "timed") > 900
    assert server.commands_of(lambda: store.claim(worker, ["default"], 5)) <= few


@pytest.mark.parametrize("lane", [None, "a"])
def test_where_priorities_age_a_claim_costs_by_the_priorities_there_are_and_not_by_the_jobs(
    own: tuple[ValkeyServer, RedisStore], lane: str | None
) -> None:
    server, store = own
    worker = enlisted(store)
    store.queues.set_policy("default", QueuePolicy(ageing_us=SECOND))
    costs = []
    for number in (50, 4950):
        store.push([job(lane=lane, priority=place % 10) for place in range(number)])
        claimed(store, worker)
        costs.append(server.commands_of(lambda: claimed(store, worker)))
    assert costs[0] == costs[1] <= 40


def test_scripts_touch_declared_keys_only() -> None:
    """On a cluster nothing else is theirs. So no key's name is made in Lua, or comes in as an argument."""
    for path in Path(scripts.__file__).with_name("lua").rglob("*.lua"):
        text = path.read_text("utf-8")
        for command, first in re.findall(r"redis\.call\('(\w+)'(?:, ([^,)]+))?", text):
            if command not in ("TIME", "PUBLISH"):
                assert first == "key" or first.lower() in (*keys._QUEUE_KEYS, *keys._HOUSE_KEYS), (path.name, command)
        for listed in re.findall(r"key in ipairs\(\{ (.+?) \}\)", text):
            assert {name.lower() for name in listed.split(", ")} <= set(keys._QUEUE_KEYS), path.name


def test_every_script_that_moves_jobs_puts_their_lanes_in_place() -> None:
    folder = Path(scripts.__file__).with_name("lua")
    known = [scripts.script(path.stem) for path in folder.glob("*.lua")]
    movers = [one for one in known if one.is_write and "local function lift(" in one.text]
    assert len(movers) > 8
    own = {one.name: (folder / f"{one.name}.lua").read_text("utf-8") for one in movers}
    assert [
        name for name, text in own.items() if not re.search(r"^ *close_(step|round)\(now\)", text, re.MULTILINE)
    ] == []


# --- a policy that changes ------------------------------------------------------------------------------------------


def test_a_change_of_policy_reaches_thousands_of_lanes_in_slices(own: tuple[ValkeyServer, RedisStore]) -> None:
    server, store = own
    worker = enlisted(store)
    store.queues.set_policy("default", STOPPED)
    store.push(lane_jobs(5000))
    assert claimed_ids(store, worker) == []
    with server.client() as client:
        client.config_resetstat()
        store.queues.set_policy("default", FREE)
        assert sum(found["calls"] for found in client.info("commandstats").values()) < 50, "it touches no lane"
    opened = [len(claimed_ids(store, worker, limit=1)) + raw(store, "ZCARD", "open") for _ in range(5)]
    assert opened == [1000, 1999, 2998, 3997, 4996]
    assert len(claimed_ids(store, worker, limit=5000)) == 4995
    assert raw(store, "HEXISTS", "meta", "sweep") == 0


def test_a_lower_limit_holds_at_once_in_lanes_that_were_not_looked_at_yet(store: RedisStore) -> None:
    """I22"""
    worker = enlisted(store)
    store.push([*lane_jobs(3000), *lane_jobs(3000)])
    first = store.claim(worker, ["default"], 3000)
    store.queues.set_policy("default", ONE_EACH)
    assert claimed_ids(store, worker, limit=2000) == []
    store.settle([done(claim) for claim in first[-10:]])
    found = []
    while next_look(store) == "0":
        found += claimed_ids(store, worker, limit=2000)
    assert len(found) == 10
    assert max(Counter(lane.running for lane in store.queues.lanes("default"))) == 1


def test_two_changes_at_one_moment_both_take_effect(store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    real = RedisQueues._terms
    meanwhile: list[Callable[[], object]] = [lambda: store.queues.set_overlay("default", QueueOverlay(max_running=1))]

    def terms(at: RedisQueues, name: str) -> Terms:
        found = real(at, name)
        if meanwhile:
            meanwhile.pop()()
        return found

    monkeypatch.setattr(queues.RedisQueues, "_terms", terms)
    assert store.queues.set_policy("default", QueuePolicy(limits=Limits(Rate(SECOND, 5), max_running=9)))
    found = store.queues.get("default")
    assert found is not None
    assert found.policy.limits == Limits(Rate(SECOND, 5), max_running=1)


def test_an_unchanged_declaration_writes_nothing(own: tuple[ValkeyServer, RedisStore]) -> None:
    server, store = own
    store.queues.set_policy("default", ONE_EACH)
    with server.client() as client:
        before = client.info("persistence")["rdb_changes_since_last_save"]
        assert not store.queues.set_policy("default", ONE_EACH)
        assert client.info("persistence")["rdb_changes_since_last_save"] == before


def test_a_change_whose_answer_was_lost_is_one_change(store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.queues.set_policy("default", FREE)
    lose_answers(monkeypatch, 1)
    assert store.queues.set_policy("default", ONE_EACH)
    assert raw(store, "HGET", "meta", "revision") == b"2"


# --- answers that were lost -----------------------------------------------------------------------------------------


def test_a_claim_whose_answer_was_lost_is_charged_once(store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """I22"""
    store.queues.set_policy("default", QueuePolicy(limits=Limits(Rate(SECOND, 4), max_running=4)))
    store.push([*jobs(5, lane="a"), *jobs(5)])
    worker = enlisted(store)
    claimed(store, worker)
    lose_answers(monkeypatch, 1)
    assert len(claimed_ids(store, worker, limit=2)) == 2
    assert len(claimed_ids(store, worker)) == 1
    assert sum(lane.running for lane in store.queues.lanes("default")) == 4


def test_a_claim_whose_answers_were_all_lost_is_given_again_although_the_limit_is_reached(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place in a limit that nobody knows of would be free only when the lease ends."""
    store.queues.set_policy("default", QueuePolicy(limits=Limits(max_running=2)))
    store.push(jobs(5, lane="a"))
    worker = enlisted(store)
    with monkeypatch.context() as broken:
        lose_answers(broken, 100)
        with pytest.raises(StoreError):
            store.claim(worker, ["default"], 5)
    claims = store.claim(worker, ["default"], 5)
    assert len(claims) == 2
    assert store.settle([done(claim) for claim in claims]) == []
    assert len(claimed_ids(store, worker)) == 2


def test_a_verdict_whose_answer_was_lost_is_told_to_the_breaker_once(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.queues.set_policy("default", QueuePolicy(lane_limits=Limits(breaker=Breaker(2, 60 * SECOND))))
    store.push(jobs(5, lane="a"))
    worker = enlisted(store)
    claim = claimed(store, worker)
    lose_answers(monkeypatch, 1)
    assert store.settle([failed(claim)]) == []
    assert len(claimed_ids(store, worker, limit=1)) == 1


# --- two at once ----------------------------------------------------------------------------------------------------


def test_two_machines_never_exceed_a_limit_together() -> None:
    """I22"""
    namespace, url = new_namespace(), shared_server().url
    pair = [RedisStore.open(url, where=url, namespace=namespace) for _ in range(2)]
    pair[0].queues.set_policy("default", QueuePolicy(limits=Limits(max_running=3), lane_limits=Limits(max_running=1)))
    pair[0].push([job(lane=f"lane{number % 5}") for number in range(300)])
    lanes = {one.id: one.lane for one in (record(pair[0], new) for new in _ids(pair[0]))}
    running, most, lock = Counter[str | None](), list[int](), threading.Lock()

    def work(at: RedisStore) -> int:
        worker, ended, claims = enlisted(at), 0, list[Claim]()
        while ended < 300 and (claims or at.queues.get("default").size):  # type: ignore[union-attr] # it is there
            with lock:
                running.subtract(lanes[claim.id] for claim in claims)
            _, fresh = at.exchange([done(claim) for claim in claims], worker, ["default"], 2)
            with lock:
                running.update(lanes[claim.id] for claim in fresh)
                most.append(max(running.total(), 3 * max(running.values(), default=0)))
            ended += len(claims)
            claims = fresh
        return ended

    calls = [Call(lambda at=at: work(at)) for at in pair * 2]  # type: ignore[misc]
    assert sum(call.result(60) for call in calls) == 300
    assert max(most) <= 3, "three in all, one in each lane"
    for at in pair:
        at.close()


def test_two_machines_keep_to_a_rate_together() -> None:
    """I22: in no stretch of time are there more starts than the burst and what the rate adds."""
    namespace, url = new_namespace(), shared_server().url
    pair = [RedisStore.open(url, where=url, namespace=namespace) for _ in range(2)]
    pair[0].queues.set_policy("default", QueuePolicy(limits=Limits(Rate(SECOND // 100, 3))))
    pair[0].push(jobs(60))
    starts: list[int] = []

    def work(at: RedisStore) -> None:
        worker = enlisted(at)
        while len(starts) < 60:
            starts.extend(claim.claimed_us for claim in at.claim(worker, ["default"], 5))
            at.wait(["default"], 0.05)

    for call in [Call(lambda at=at: work(at)) for at in pair * 2]:  # type: ignore[misc]
        call.result(30)
    starts.sort()
    excess = [
        (last - first + 1) - 3 - (starts[last] - starts[first]) / (SECOND // 100)
        for first in range(60)
        for last in range(first, 60)
    ]
    assert max(excess) <= 0
    for at in pair:
        at.close()


def _ids(store: RedisStore) -> list[str]:
    found: list[str] = [key.decode() for key in store._link.ask(("HKEYS", store._link.keys.in_house("ids")))[0]]
    return found


# --- waiting --------------------------------------------------------------------------------------------------------


def test_after_a_claim_that_found_nothing_a_waiter_is_not_told_to_claim_at_once(
    store: RedisStore, clock: VirtualClock
) -> None:
    worker = enlisted(store, lease_s=10_000)
    store.push(jobs(3, lane="a"))
    held_back: list[Callable[[], object]] = [
        lambda: store.queues.set_policy("default", STOPPED),
        lambda: store.queues.set_policy("default", QueuePolicy(limits=Limits(max_running=0))),
        lambda: store.queues.set_policy("default", QueuePolicy(limits=Limits(Rate(0)))),
        lambda: (store.queues.set_policy("default", FREE), store.queues.pause("default", "a")),
    ]
    for hold_back in held_back:
        hold_back()
        assert claimed_ids(store, worker) == []
        assert next_look(store) == ""
    store.queues.resume("default", "a")
    assert next_look(store) == "0"
    store.queues.set_policy(
        "default", QueuePolicy(limits=Limits(Rate(10 * SECOND)), lane_limits=Limits(Rate(20 * SECOND)))
    )
    assert len(claimed_ids(store, worker)) == 1
    assert next_look(store) == str(clock.in_s(20)), "the lane opens after the queue"
    store.push(jobs(1, lane="b"))
    assert next_look(store) == str(clock.in_s(10)), "the queue opens after lane b"


def test_a_slow_verdict_of_the_last_job_leaves_no_alarm_behind(store: RedisStore, clock: VirtualClock) -> None:
    worker = enlisted(store)
    store.push(jobs(2, lane="a"))
    store.settle([verdict(claimed(store, worker), "done", slows_us=30 * SECOND)])
    assert next_look(store) == str(clock.in_s(30))
    store.queues.purge("default")
    assert next_look(store) == ""


# --- upkeep ---------------------------------------------------------------------------------------------------------


def test_lanes_that_rest_are_forgotten_in_slices(store: RedisStore, clock: VirtualClock) -> None:
    worker = enlisted(store, lease_s=1_000_000)
    store.queues.set_policy("default", QueuePolicy(lane_limits=Limits(Rate(60 * SECOND))))
    store.push([*lane_jobs(2500), *jobs(3, lane="z")])
    _finish(store, worker, 2501)
    assert raw(store, "HLEN", "lanes") == 2502, "those of the lanes, and of the jobs without one"
    store.tidy()
    assert raw(store, "HLEN", "lanes") == 2502, "their rates remember"
    clock.advance(60)
    for _ in range(2):  # the turn goes on, beyond that of the others
        _finish(store, worker, 1)
        clock.advance(60)
    left = [(store.tidy(), raw(store, "HLEN", "lanes"))[1] for _ in range(4)]
    assert left[:2] == [1502, 502]
    assert left[3] == 2, "z is ahead of its turn, and the one without a name stays"
    assert raw(store, "ZCARD", "idle") == 1


def _finish(store: RedisStore, worker: str, number: int) -> None:
    claims = store.claim(worker, ["default"], number)
    assert len(claims) == number
    store.settle([done(claim) for claim in claims])


def test_a_batch_of_plain_jobs_costs_the_same_commands_however_many_they_are(
    own: tuple[ValkeyServer, RedisStore],
) -> None:
    server, store = own
    store.push(jobs(1))
    few = server.commands_of(lambda: store.push([*jobs(5), *jobs(5, delay_us=SECOND, expires_us=2**52)]))
    many = server.commands_of(lambda: store.push([*jobs(200), *jobs(200, delay_us=SECOND, expires_us=2**52)]))
    assert many == few <= 20


def test_a_queue_with_lanes_works_on_when_the_server_is_out_of_memory(own: tuple[ValkeyServer, RedisStore]) -> None:
    """I22: places in limits are given back."""
    server, store = own
    worker = enlisted(store)
    store.queues.set_policy("default", QueuePolicy(lane_limits=Limits(Rate(SECOND, 9), max_running=1)))
    store.push([*jobs(2, lane="a"), *jobs(2, lane="b")])
    with server.client() as client:
        client.config_set("maxmemory", "1mb")
    for _ in range(2):
        claims = store.claim(worker, ["default"], 10)
        assert len(claims) == 2
        assert store.settle([done(claim) for claim in claims]) == []
    found = store.queues.get("default")
    assert found is not None
    assert found.counts == {"succeeded": 4}
