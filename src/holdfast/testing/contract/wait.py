"""Waiting in real time: woken at once, never early, and without burning a processor meanwhile."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast.errors import StoreClosed
from holdfast.model.query import Query
from holdfast.model.verdict import done
from holdfast.model.worker import WorkerRecord
from holdfast.policy.moments import SECOND
from holdfast.store.protocol import Store
from holdfast.testing.contract.background_call import DEADLINE_S, Call
from holdfast.testing.contract.sample_jobs import (
    bad_seal,
    claimed,
    enlisted,
    failed,
    job,
    jobs,
    progress,
    pushed,
    retry,
    run_to,
    snoozed,
)

LONG_S = 60.0
"""Far beyond every deadline here: a wait of this length that returns was woken."""
HOUR_US = 3600 * SECOND


def waiting(store: Store, *queues: str, timeout_s: float = LONG_S) -> Call[None]:
    return Call(lambda: store.wait(queues or None, timeout_s))


def take(store: Store, worker: str) -> str:
    """Wait and claim until there is a job, as a worker does. Give its id."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if claims := store.claim(worker, ["default"], 1):
            return claims[0].id
        store.wait(["default"], deadline - time.monotonic())
    raise AssertionError("no job came in time")


# --- wait -----------------------------------------------------------------------------------------------


def test_a_wait_returns_at_once_if_something_is_ready(live_store: Store) -> None:
    pushed(live_store)
    waiting(live_store, "default").result()
    waiting(live_store).result()


def test_a_wait_with_no_time_returns_at_once(live_store: Store) -> None:
    pushed(live_store, delay_us=HOUR_US)
    waiting(live_store, "default", timeout_s=0).result()
    waiting(live_store, "nowhere", timeout_s=-1).result()


def test_a_wait_ends_when_its_time_is_over(live_store: Store) -> None:
    call = waiting(live_store, "default", timeout_s=0.2)
    call.result()
    assert call.took_s >= 0.19


def test_a_push_wakes_a_wait(live_store: Store) -> None:
    call = waiting(live_store, "default")
    pushed(live_store)
    call.result()


def test_a_push_into_any_queue_wakes_who_waits_for_all(live_store: Store) -> None:
    call = waiting(live_store)
    pushed(live_store, "brand-new")
    call.result()


def test_a_wait_for_a_queue_that_never_was_is_woken_by_its_first_job(live_store: Store) -> None:
    call = waiting(live_store, "a", "brand-new")
    pushed(live_store, "brand-new")
    call.result()


def test_a_wait_ends_when_the_head_is_due_and_not_before(live_store: Store) -> None:
    """Behaviour 5: never early; lateness is bounded."""
    new = job(delay_us=SECOND // 5)
    worker = enlisted(live_store)
    live_store.push([new])
    assert take(live_store, worker) == new.id
    stored = live_store.inspector.get(new.id)
    assert stored is not None
    assert stored.claimed_us is not None
    late_us = stored.claimed_us - stored.due_us
    assert 0 <= late_us < SECOND


def test_an_earlier_insert_is_not_delayed_by_who_sleeps_for_a_later_one(live_store: Store) -> None:
    """Behaviours 1 and 2, trap 17: three sleepers, three jobs in an hour, one now."""
    live_store.push(jobs(3, delay_us=HOUR_US))
    workers = [enlisted(live_store) for _ in range(3)]
    calls = [Call(lambda worker=worker: take(live_store, worker)) for worker in workers]  # type: ignore[misc]
    soon = pushed(live_store, delay_us=SECOND // 10)
    live_store.push(more := jobs(2))
    taken = sorted(call.result() for call in calls)
    assert taken == sorted([soon, *(new.id for new in more)])


def test_many_sleepers_get_all_the_jobs_between_them(live_store: Store) -> None:
    """I9, behaviour 1"""
    workers = [enlisted(live_store) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(take, live_store, worker) for worker in workers]
        batch = jobs(8)
        for new in batch:
            live_store.push([new])
        taken = sorted(future.result(DEADLINE_S) for future in futures)
    assert taken == sorted(new.id for new in batch)


def test_a_wait_of_a_trillion_seconds_is_a_wait(live_store: Store) -> None:
    """No OverflowError, neither for the timeout nor for the head's due time."""
    live_store.push([job(at_us=10**18)])
    call = waiting(live_store, "default", timeout_s=1e12)
    assert not call.is_back(0.1)
    pushed(live_store)
    call.result()


def test_a_wait_uses_no_processor(live_store: Store) -> None:
    """Behaviour 3: on an empty queue, and on one whose jobs are all in the future."""
    live_store.push(jobs(100, delay_us=HOUR_US))

    def wait() -> float:
        began = time.thread_time()
        live_store.wait(["default", "empty"], 0.5)
        return time.thread_time() - began

    assert Call(wait).result() < 0.1


def test_a_retry_wakes_a_wait(live_store: Store) -> None:
    pushed(live_store)
    claim = claimed(live_store)
    call = waiting(live_store, "default")
    live_store.settle([retry(claim)])
    call.result()


def test_a_snooze_sets_a_new_time_to_wake_at(live_store: Store) -> None:
    pushed(live_store)
    claim = claimed(live_store)
    call = waiting(live_store, "default")
    live_store.settle([snoozed(claim, 0.1)])
    call.result()


@pytest.mark.parametrize("act", ["retry", "unpark", "resume", "leave", "rescue"])
def test_whatever_makes_a_job_claimable_wakes_a_wait(live_store: Store, act: str) -> None:
    worker = enlisted(live_store)
    job_id = pushed(live_store)
    acts: dict[str, Callable[[], object]] = {
        "retry": lambda: live_store.operator.retry([job_id]),
        "unpark": lambda: live_store.operator.unpark({job_id: None}),
        "resume": lambda: live_store.queues.resume("default"),
        "leave": lambda: live_store.leave(worker),
        "rescue": lambda: live_store.rescue(live_store.now() + HOUR_US),
    }
    if act == "resume":
        live_store.queues.pause("default")
    else:
        claim = claimed(live_store, worker)
        endings = {"retry": failed(claim), "unpark": bad_seal(claim)}
        live_store.settle([endings[act]] if act in endings else [])
    call = waiting(live_store, "default")
    assert not call.is_back(0.05)
    acts[act]()
    call.result()


def test_a_paused_queue_wakes_nobody(live_store: Store) -> None:
    pushed(live_store)
    live_store.queues.pause("default")
    began = time.monotonic()
    live_store.wait(["default"], 0.2)
    assert time.monotonic() - began >= 0.19


# --- wake -----------------------------------------------------------------------------------------------


def test_wake_ends_every_wait_under_way(live_store: Store) -> None:
    """A second call each round: a thread that had not begun to wait by the first is caught by it or by the next."""
    calls: list[Call[Any]] = [waiting(live_store, "default"), waiting(live_store)]
    calls.append(Call(lambda: _watch_long(live_store)))
    deadline = time.monotonic() + DEADLINE_S
    while not all(call.is_back(0.02) for call in calls):
        assert time.monotonic() < deadline, "woken for long, and still asleep"
        live_store.wake()


def test_wake_ends_the_next_wait_if_none_is_under_way(live_store: Store) -> None:
    live_store.wake()
    waiting(live_store, "default").result()


def test_a_wake_is_used_up_by_the_wait_it_ends(live_store: Store) -> None:
    live_store.wake()
    waiting(live_store, "default").result()
    began = time.monotonic()
    live_store.wait(["default"], 0.2)
    assert time.monotonic() - began >= 0.19


# --- watch ----------------------------------------------------------------------------------------------


def _watch_long(store: Store) -> list[str]:
    return store.inspector.watch([pushed(store, "watched", delay_us=HOUR_US)], LONG_S)


@pytest.mark.parametrize("ending", [done, failed])
def test_a_watch_ends_when_a_job_does(live_store: Store, ending: Callable[..., object]) -> None:
    watched = pushed(live_store)
    claim = claimed(live_store)
    other = pushed(live_store)
    call = Call(lambda: live_store.inspector.watch([other, watched], LONG_S))
    live_store.settle([ending(claim)])  # type: ignore[list-item]  # both make verdicts
    assert call.result() == [watched]


@pytest.mark.parametrize("act", ["cancel", "delete", "purge"])
def test_a_watch_ends_when_a_job_is_cancelled_or_gone(live_store: Store, act: str) -> None:
    job_id = pushed(live_store)
    call = Call(lambda: live_store.inspector.watch([job_id], LONG_S))
    assert not call.is_back(0.05)
    if act == "purge":
        live_store.queues.purge("default")
    else:
        getattr(live_store.operator, act)([job_id])
    assert call.result() == [job_id]


def test_a_watch_ends_when_upkeep_ends_a_job(live_store: Store) -> None:
    job_id = pushed(live_store, expires_us=1)
    call = Call(lambda: live_store.inspector.watch([job_id], LONG_S))
    assert not call.is_back(0.05)
    live_store.tidy()
    assert call.result() == [job_id]


def test_a_watch_goes_on_while_a_job_is_retried(live_store: Store) -> None:
    job_id = pushed(live_store)
    claim = claimed(live_store)
    call = Call(lambda: live_store.inspector.watch([job_id], LONG_S))
    live_store.settle([retry(claim)])
    assert not call.is_back(0.1)
    live_store.settle([done(claimed(live_store))])
    assert call.result() == [job_id]


def test_a_watch_gives_at_once_what_has_ended_or_never_was(live_store: Store) -> None:
    ended, running = run_to(live_store, "succeeded"), pushed(live_store)
    assert live_store.inspector.watch(["nothing", running, ended], LONG_S) == ["nothing", ended]


def test_a_watch_gives_nothing_when_its_time_is_over(live_store: Store) -> None:
    job_id = pushed(live_store)
    began = time.monotonic()
    assert live_store.inspector.watch([job_id], 0.2) == []
    assert time.monotonic() - began >= 0.19
    assert live_store.inspector.watch([job_id], 0) == []


# --- close ----------------------------------------------------------------------------------------------


def test_closing_sends_everyone_home(live_store: Store) -> None:
    job_id = pushed(live_store, delay_us=HOUR_US)
    calls = [waiting(live_store, "default"), waiting(live_store)]
    watcher = Call(lambda: live_store.inspector.watch([job_id], LONG_S))
    assert not any(call.is_back(0.1) for call in calls)
    live_store.close()
    for call in calls:
        call.result()
    assert watcher.result() in ([], [job_id])


def test_a_store_may_be_closed_twice(live_store: Store) -> None:
    live_store.close()
    live_store.close()


def test_a_closed_store_refuses_everything(live_store: Store) -> None:
    """I32"""
    job_id = pushed(live_store)
    worker = enlisted(live_store)
    claim = claimed(live_store, worker)
    live_store.close()
    acts: list[Callable[[], object]] = [
        lambda: live_store.push([job()]),
        lambda: live_store.claim(worker, ["default"], 1),
        lambda: live_store.settle([done(claim)]),
        lambda: live_store.exchange([done(claim)], worker, ["default"], 1),
        lambda: live_store.note([progress(claim)]),
        lambda: live_store.wait(None, 0.01),
        lambda: live_store.enlist(WorkerRecord("late", "host", 1)),
        lambda: live_store.beat(worker),
        lambda: live_store.leave(worker),
        live_store.rescue,
        live_store.tidy,
        live_store.queues.names,
        lambda: live_store.queues.get("default"),
        lambda: live_store.queues.pause("default"),
        lambda: live_store.operator.cancel([job_id]),
        lambda: live_store.operator.retry([job_id]),
        lambda: live_store.operator.delete([job_id]),
        lambda: live_store.inspector.get(job_id),
        lambda: live_store.inspector.find(Query()),
        lambda: live_store.inspector.watch([job_id], 0.01),
    ]
    for act in acts:
        with pytest.raises(StoreClosed):
            act()


def test_threads_come_and_go_without_losing_a_job(live_store: Store) -> None:
    """I1, I7: producers and workers at once; every job is done once."""
    batches = [jobs(40, queue) for queue in ("a", "b", "c")]
    stop = threading.Event()

    def work() -> int:
        worker, count = enlisted(live_store, lease_s=600), 0
        while not stop.is_set():
            claims = live_store.claim(worker, ["a", "b", "c"], 4)
            count += len(claims)
            assert live_store.settle([done(claim) for claim in claims]) == []
            if not claims:
                live_store.wait(["a", "b", "c"], 0.05)
        return count

    workers = [Call(work) for _ in range(3)]
    pushers = [Call(lambda batch=batch: [live_store.push([new]) for new in batch]) for batch in batches]  # type: ignore[misc]
    for pusher in pushers:
        pusher.result()
    ids = [new.id for batch in batches for new in batch]
    pending, deadline = ids, time.monotonic() + 30
    while pending and time.monotonic() < deadline:
        ended = set(live_store.inspector.watch(pending, 1))
        pending = [job_id for job_id in pending if job_id not in ended]
    stop.set()
    assert (pending, sum(worker.result() for worker in workers)) == ([], 120)
