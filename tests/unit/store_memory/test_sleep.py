"""How the memory store sleeps: woken only by what concerns the sleeper, and never for too long at a time."""

import threading
from contextlib import suppress

import pytest

from holdfast.errors import StoreClosed
from holdfast.model.verdict import done
from holdfast.policy.moments import SECOND
from holdfast.store.memory import bell
from holdfast.store.memory.bell import Bell
from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.background_call import DEADLINE_S, Call
from holdfast.testing.contract.sample_jobs import claimed, job, jobs, pushed
from holdfast.testing.contract.virtual_clock import VirtualClock

HOUR_US = 3600 * SECOND


class Looks:
    """Counts how often sleepers look at the shelves, and tells when they have."""

    def __init__(self, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        self.first = threading.Event()
        self._look = store._rack.next_claimable_us
        monkeypatch.setattr(store._rack, "next_claimable_us", self._counted)

    def _counted(self, queues: object) -> int | None:
        self.number += 1
        self.first.set()
        return self._look(queues)  # type: ignore[arg-type]  # passed on as it came


@pytest.fixture(params=[False, True], ids=["whole", "split"])
def store(request: pytest.FixtureRequest) -> MemoryStore:
    return MemoryStore(is_split=request.param)


def test_a_sleeper_is_not_woken_by_what_is_due_later(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behaviour 3: wake-ups are counted, not only time."""
    looks = Looks(store, monkeypatch)
    pushed(store, delay_us=HOUR_US)
    sleeper = Call(lambda: store.wait(["default"], 60))
    assert looks.first.wait(DEADLINE_S)
    for delay_h in range(2, 52):
        pushed(store, delay_us=delay_h * HOUR_US)
    assert not sleeper.is_back(0.05)
    assert looks.number == 1
    store.wake()
    sleeper.result()


def test_ended_jobs_wake_watchers_and_nobody_else(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    pushed(store)
    claim = claimed(store)
    looks = Looks(store, monkeypatch)
    sleeper = Call(lambda: store.wait(["default"], 60))
    assert looks.first.wait(DEADLINE_S)
    store.settle([done(claim)])
    assert not sleeper.is_back(0.05)
    assert looks.number == 1
    store.wake()
    sleeper.result()


def test_a_push_elsewhere_does_not_end_a_wait(store: MemoryStore) -> None:
    sleeper = Call(lambda: store.wait(["default"], 60))
    pushed(store, "other")
    assert not sleeper.is_back(0.1)
    pushed(store)
    sleeper.result()


def test_a_step_of_the_clock_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sleep is cut into naps: whoever sets the clock an hour on makes no job an hour late."""
    monkeypatch.setattr(bell, "LONGEST_NAP_S", 0.02)
    clock = VirtualClock()
    store = MemoryStore(clock)
    store.push([job(delay_us=HOUR_US)])
    sleeper = Call(lambda: store.wait(["default"], 60))
    assert not sleeper.is_back(0.1)
    clock.advance(3600)
    sleeper.result()


def test_a_clock_set_back_makes_nothing_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bell, "LONGEST_NAP_S", 0.02)
    clock = VirtualClock()
    store = MemoryStore(clock)
    store.push([job(delay_us=SECOND // 20)])
    clock.advance(-1)
    assert not Call(lambda: store.wait(["default"], 60)).is_back(0.2)
    store.close()


def test_a_ring_between_look_and_sleep_is_not_missed() -> None:
    """The race that a bare Condition loses: the news comes after the look and before the sleep."""
    one = Bell(threading.RLock())
    answers = iter([None, 0.0])

    def look() -> float | None:
        one.ring()
        return next(answers)

    Call(lambda: one.sleep(look, 60)).result()


def test_no_nap_is_longer_than_the_platform_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Bell(threading.RLock())
    sleeper = Call(lambda: one.sleep(lambda: 1e15, 1e15))
    assert not sleeper.is_back(0.05)
    one.close()
    sleeper.result()


def test_many_sleepers_are_all_woken_by_one_close(store: MemoryStore) -> None:
    store.push(jobs(3, delay_us=HOUR_US))
    sleepers = [Call(lambda: store.wait(None, 60)) for _ in range(20)]
    store.close()
    for sleeper in sleepers:
        with suppress(StoreClosed):  # one that came after the close is told so
            sleeper.result()
