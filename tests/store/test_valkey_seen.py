"""What only the Redis/Valkey store has to get right about seen-sets: lost answers, two at once, slices, memory."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from redis.exceptions import ConnectionError as NoConnection

from holdfast.errors import StoreError
from holdfast.model.job import NewJob
from holdfast.model.query import Query
from holdfast.model.seen import SeenMark, Sketch
from holdfast.model.verdict import done
from holdfast.policy.moments import SECOND
from holdfast.policy.seen import BLOCK_BITS, BLOCK_BYTES, SEEN, digest, sketch
from holdfast.store.redis import pushing, seen
from holdfast.store.redis.store import RedisStore
from holdfast.testing.contract.background_call import Call
from holdfast.testing.contract.sample_jobs import claimed, enlisted, failed, job, jobs, pushed, state
from holdfast.testing.contract.virtual_clock import VirtualClock
from tests.support.lost_answers import lose_answers
from tests.support.on_valkey import *  # noqa: F403 - fixtures
from tests.support.on_valkey import Pair
from tests.support.servers_valkey import ValkeyServer

A, B, C = digest("a"), digest("b"), digest("c")


def digests(number: int, kind: str = "key") -> list[bytes]:
    return [digest(f"{kind} {place}") for place in range(number)]


def marked(key: str, **options: Any) -> NewJob:
    return job(seen=SeenMark(digest(key), **options))


def raw(store: RedisStore, command: str, key: str, *rest: object) -> Any:
    return store._link.ask((command, store._link.keys.in_queue("default", key), *rest))[0]


def known_ids(store: RedisStore) -> set[str]:
    """List the ids that the house knows."""
    return {key.decode() for key in store._link.ask(("HKEYS", store._link.keys.in_house("ids")))[0]}


# --- answers that were lost -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", [1, 2])
def test_a_key_is_told_as_new_although_the_answer_that_said_so_was_lost(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, lost: int
) -> None:
    store.seen.add("default", [B])
    lose_answers(monkeypatch, lost)
    assert store.seen.add("default", [A, B, C, A]) == [True, False, True, False]
    assert store.seen.add("default", [A, B, C]) == [False, False, False]


def test_an_answer_of_many_slices_is_true_although_some_were_lost(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = digests(2500)
    lose_answers(monkeypatch, 2, after=1)
    assert store.seen.add("default", [*many, *many[:100]]) == [True] * 2500 + [False] * 100


def test_what_others_marked_meanwhile_does_not_change_an_answer_that_was_lost(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another caller's answer is kept beside this one's."""
    here, there = pair
    real = here._link._delivery._learn
    others: list[bool] = []

    def learn(node: Any, parcels: Any, answers: list[Any]) -> None:
        real(node, parcels, answers)
        if isinstance(answers[0], NoConnection):
            others.extend(there.seen.add("default", [A, B, C]))

    monkeypatch.setattr(here._link._delivery, "_learn", learn)
    lose_answers(monkeypatch, 1)
    assert here.seen.add("default", [A, B]) == [True, True]
    assert others == [False, False, True]


def test_the_next_call_of_a_caller_is_not_taken_for_one_that_is_repeated(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store.seen.add("default", [A]) == [True]
    lose_answers(monkeypatch, 1)
    assert store.seen.add("default", [A]) == [False]


def test_a_key_that_was_forgotten_is_told_so_although_the_answer_was_lost(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.seen.add("default", [A, B])
    lose_answers(monkeypatch, 1)
    assert store.seen.discard("default", [A, C]) == [True, False]
    lose_answers(monkeypatch, 1)
    assert store.seen.clear("default") == 1


def test_upkeep_lets_go_of_answers_that_nobody_waits_for(store: RedisStore, clock: VirtualClock) -> None:
    store.seen.add("default", [A])
    clock.advance(599)
    store.tidy()
    assert (raw(store, "HLEN", "answers"), raw(store, "ZCARD", "answered")) == (1, 1)
    clock.advance(1)
    store.tidy()
    assert (raw(store, "HLEN", "answers"), raw(store, "ZCARD", "answered")) == (0, 0)


def test_one_answer_is_kept_of_each_that_calls_at_a_time(store: RedisStore) -> None:
    for one in digests(20):
        store.seen.add("default", [one])
    assert raw(store, "HLEN", "answers") == 1


def test_a_child_process_has_answers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a copy of the names that its parent goes on using."""
    callers = seen._Callers()
    with callers.one() as before:
        pass
    with callers.one() as parents, monkeypatch.context() as forked:
        callers._free.append(before[0].partition("-")[0])
        forked.setattr(os, "getpid", lambda: -1)
        with callers.one() as childs:
            pass
    assert before[0] == parents[0] != childs[0]
    assert len({before[1], parents[1], childs[1]}) == 3


@pytest.mark.parametrize("which", [1, 2])
def test_a_push_is_created_although_its_answer_was_lost_and_its_key_is_seen_now(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    """I3: of the two steps of a push, the first or the second."""
    new = marked("a")
    lose_answers(monkeypatch, 1, after=which - 1)
    assert store.push([new])[0].decision == "created"
    assert state(store, new.id) == "ready"


def test_a_push_that_is_repeated_after_an_error_is_a_duplicate_of_itself(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I3: and is not told that its key was seen, as if there were no job."""
    new = marked("a")
    with monkeypatch.context() as broken:
        lose_answers(broken, 100, after=1)
        with pytest.raises(StoreError):
            store.push([new])
    (answer,) = store.push([new])
    assert (answer.id, answer.decision) == (new.id, "duplicate")
    assert answer.reason != SEEN
    assert state(store, new.id) == "ready"


def test_a_needless_push_is_told_so_although_the_answer_was_lost(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.seen.add("default", [A])
    lose_answers(monkeypatch, 1, after=1)
    new = marked("a")
    (answer,) = store.push([new])
    assert (answer.id, answer.decision, answer.reason) == (new.id, "duplicate", SEEN)
    assert known_ids(store) == set()


# --- what is kept out leaves nothing behind -------------------------------------------------------------------------


def test_the_house_forgets_the_ids_of_needless_pushes(store: RedisStore, clock: VirtualClock) -> None:
    first = pushed(store, seen=SeenMark(A))
    assert [answer.decision for answer in store.push([marked("a"), marked("b"), marked("a")])] == [
        "duplicate", "created", "duplicate",
    ]  # fmt: skip
    assert len(known_ids(store)) == 2
    assert first in known_ids(store)
    clock.advance(61)
    store.tidy()
    assert raw(store, "ZCARD", "gone") == 0, "the marks go, too"


def test_a_push_that_looked_before_a_needless_twin_freed_their_id_stores_it_where_the_house_knows_it(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I3"""
    here, there = pair
    here.seen.add("default", [A])
    twin, real = job(), pushing._store
    meanwhile: list[Callable[[], object]] = [lambda: there.push([job(id=twin.id, seen=SeenMark(A))])]

    def interrupted(*given: Any) -> Any:
        if meanwhile:
            meanwhile.pop()()
        return real(*given)

    monkeypatch.setattr(pushing, "_store", interrupted)
    assert here.push([twin])[0].decision == "created"
    assert known_ids(here) == {twin.id}
    assert there.push([twin])[0].decision == "duplicate"
    assert len(here.inspector.find(Query())) == 1


# --- two at once ----------------------------------------------------------------------------------------------------


def test_of_all_that_push_one_key_at_once_one_is_stored(pair: Pair) -> None:
    """I24"""

    def push(at: RedisStore) -> int:
        return sum(at.push([marked(f"k{number}")])[0].decision == "created" for number in range(100))

    calls = [Call(lambda at=at: push(at)) for at in pair * 2]  # type: ignore[misc]
    assert sum(call.result(60) for call in calls) == 100
    assert len(pair[0].inspector.find(Query())) == 100


def test_of_all_that_mark_a_key_at_once_one_is_told_that_it_is_new(pair: Pair) -> None:
    def add(at: RedisStore) -> int:
        return sum(at.seen.add("default", [one])[0] for one in digests(200))

    calls = [Call(lambda at=at: add(at)) for at in pair * 2]  # type: ignore[misc]
    assert sum(call.result(60) for call in calls) == 200


# --- cost -----------------------------------------------------------------------------------------------------------


def test_a_push_that_asks_costs_a_few_commands_more(own: tuple[ValkeyServer, RedisStore]) -> None:
    """Beside jobs that are taken in one by one, too."""
    server, store = own
    numbers = iter(range(1000))
    tagged = server.commands_of(lambda: store.push(jobs(10, tags=("t",))))
    asking = server.commands_of(lambda: store.push([marked(f"new {next(numbers)}") for _ in range(10)]))
    assert asking - tagged <= 5 * 10 + 1, "a tag costs one"
    worker = enlisted(store)
    store.push([*jobs(20), *[marked(f"ends {number}") for number in range(20)]])
    claims = store.claim(worker, ["default"], 100)
    plain, asking = (
        server.commands_of(lambda: store.settle([done(claims.pop()) for _ in range(10)])) for _ in range(2)
    )
    assert asking == plain, "what ends looks at the seen-set only if it is to forget"


def test_a_large_batch_goes_in_slices(own: tuple[ValkeyServer, RedisStore]) -> None:
    server, store = own
    many = digests(5500)
    store.seen.add("default", many[:1])
    with server.client() as client:
        client.config_resetstat()
        store.seen.add("default", many)
        assert client.info("commandstats")["cmdstat_evalsha"]["calls"] == 6


@pytest.mark.parametrize(("ttl_us", "key", "most"), [(None, "seen", 64), (60 * SECOND, "seen_until", 96)])
def test_a_key_takes_some_tens_of_bytes(store: RedisStore, ttl_us: int | None, key: str, most: int) -> None:
    store.seen.add("default", digests(20_000), ttl_us)
    usage = ("MEMORY", "USAGE", store._link.keys.in_queue("default", key), "SAMPLES", 0)
    assert store._link.ask(usage)[0] / 20_000 <= most


def test_when_the_server_is_out_of_memory_nothing_is_marked_and_all_else_goes_on(
    own: tuple[ValkeyServer, RedisStore],
) -> None:
    """I32: a key that is marked without its job would be lost."""
    server, store = own
    pushed(store, seen=SeenMark(A, forgets_failure=True))
    pushed(store, seen=SeenMark(B, forgets_failure=True))
    first, second = claimed(store), claimed(store)
    with server.client() as client:
        client.config_set("maxmemory", "1mb")
        for refused in (
            lambda: store.seen.add("default", [C]),
            lambda: store._link.call(
                "see", "default", "me", 1, C, "", now_us=None
            ),  # whatever the house's node has left
            lambda: store.push([marked("c")]),
            lambda: store.seen.shape("other", sketch(100, 0.1)),
        ):
            with pytest.raises(StoreError):
                refused()
        assert store.seen.has("default", [A, B, C]) == [True, True, False]
        assert store.settle([done(first), failed(second)]) == []
        assert store.seen.has("default", [A, B]) == [True, False]
        assert store.seen.discard("default", [A]) == [True]
        assert store.seen.clear("default") == 0
        client.config_set("maxmemory", "0")
    assert store.push([marked("c")])[0].decision == "created"


# --- the filter -----------------------------------------------------------------------------------------------------


def test_a_filter_is_made_in_steps_and_at_once_in_full(store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no key that comes later has the server make megabytes while others wait."""
    monkeypatch.setattr(seen, "WIDTH", 3 * BLOCK_BYTES)
    real, lengths = store._link.call, list[int]()

    def call(name: str, queue: str | None, *args: Any, now_us: int | None) -> Any:
        answer = real(name, queue, *args, now_us=now_us)
        if name == "widen":
            lengths.append(answer // BLOCK_BYTES)
        return answer

    monkeypatch.setattr(store._link, "call", call)
    shape = Sketch(10, 0.5, blocks=8, hashes=2)
    assert store.seen.shape("default", shape) == shape
    assert lengths == [3, 6, 8]
    assert raw(store, "STRLEN", "filter") == 8 * BLOCK_BYTES
    store.seen.add("default", digests(1000))
    assert raw(store, "STRLEN", "filter") == 8 * BLOCK_BYTES


def test_a_filter_that_is_being_made_keeps_the_bits_it_has(store: RedisStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever began to make it has died; others mark keys; then somebody goes on."""
    shape = Sketch(10, 0.5, blocks=8, hashes=2)
    with monkeypatch.context() as dying:
        dying.setattr(store.seen, "_widen", lambda *_: None)
        store.seen.shape("default", shape)
    keys = digests(100)
    told = [store.seen.add("default", [one])[0] for one in keys]
    raw(store, "SETBIT", "filter", 8 * BLOCK_BITS - 1, 1)
    assert store.seen.shape("default", shape) == shape
    assert raw(store, "GETBIT", "filter", 8 * BLOCK_BITS - 1) == 1
    assert all(store.seen.has("default", keys))
    assert store.seen.get("default").count == sum(told) > 90


def test_clearing_gives_the_memory_back(store: RedisStore) -> None:
    store.seen.shape("default", sketch(1000, 0.01))
    store.seen.add("default", [A])
    store.seen.clear("default")
    assert raw(store, "EXISTS", "filter") == 0
    assert raw(store, "HGETALL", "meta") == {b"order": b"fifo"}
