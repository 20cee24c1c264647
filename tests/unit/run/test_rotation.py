"""How queues share a worker: in turn, by weight, or in strict order."""

from collections import Counter

import pytest

from holdfast.run.rotation import Rotation
from holdfast.store.memory.store import MemoryStore
from holdfast.testing.contract.sample_jobs import enlisted, jobs

WEIGHTS = {"critical": 4, "default": 2, "bulk": 1}


def served(store: MemoryStore, rotation: Rotation, sizes: list[int]) -> Counter[str]:
    """Claim so often, each time as many, and count by queue what was handed out."""
    worker, taken = enlisted(store, lease_s=10_000), Counter[str]()
    for size in sizes:
        claims = store.claim(worker, rotation.turn(), size)
        rotation.saw(claims, size)
        taken.update(claim.queue for claim in claims)
    return taken


def fill(store: MemoryStore, *queues: str, number: int = 3000) -> None:
    for queue in queues:
        store.push(jobs(number, queue))


@pytest.mark.parametrize("sizes", [[1] * 700, [5] * 140, [1, 7, 3, 20] * 160], ids=["one", "five", "mixed"])
def test_busy_queues_are_served_by_their_weights(store: MemoryStore, sizes: list[int]) -> None:
    fill(store, *WEIGHTS)
    taken = served(store, Rotation(store, list(WEIGHTS), WEIGHTS), sizes)
    for name, weight in WEIGHTS.items():
        assert taken[name] / sum(taken.values()) == pytest.approx(weight / 7, rel=0.05)


def test_no_queue_waits_longer_than_a_round(store: MemoryStore) -> None:
    """Trap 9"""
    weights = {"loud": 100, **{f"quiet{number}": 1 for number in range(9)}}
    fill(store, *weights, number=300)
    assert set(served(store, Rotation(store, list(weights), weights), [1] * 109)) == set(weights)


def test_what_an_idle_queue_leaves_goes_to_the_others_by_their_weights(store: MemoryStore) -> None:
    fill(store, "critical", "bulk")
    taken = served(store, Rotation(store, list(WEIGHTS), WEIGHTS), [1] * 500)
    assert taken["critical"] / taken["bulk"] == pytest.approx(4, rel=0.05)


def test_a_queue_that_was_idle_does_not_claim_what_it_missed(store: MemoryStore) -> None:
    rotation = Rotation(store, list(WEIGHTS), WEIGHTS)
    fill(store, "critical", "bulk")
    served(store, rotation, [1] * 500)
    fill(store, "default")
    taken = served(store, rotation, [1] * 70)
    assert taken["default"] == pytest.approx(20, abs=2)


def test_a_claim_that_came_up_short_settles_all_scores(store: MemoryStore) -> None:
    rotation = Rotation(store, list(WEIGHTS), WEIGHTS)
    fill(store, "bulk", number=100)
    served(store, rotation, [200])
    fill(store, *WEIGHTS)
    taken = served(store, rotation, [1] * 70)
    assert taken == {"critical": 40, "default": 20, "bulk": 10}


def test_equal_weights_take_turns(store: MemoryStore) -> None:
    rotation = Rotation(store, ["a", "b"], {"a": 3, "b": 3})
    assert [rotation.turn() for _ in range(3)] == [["b", "a"], ["a", "b"], ["b", "a"]]


def test_in_strict_order_a_later_queue_waits_for_the_earlier_ones(store: MemoryStore) -> None:
    fill(store, "a", "b", number=10)
    rotation = Rotation(store, ["b", "a"], is_strict=True)
    assert served(store, rotation, [1] * 9) == {"b": 9}
    assert served(store, rotation, [2] * 3) == {"b": 1, "a": 5}


def test_the_score_stays_small(store: MemoryStore) -> None:
    rotation = Rotation(store, ["a", "b"], {"a": 2, "b": 1})
    shares = rotation._shares
    assert shares is not None
    shares._come = {"a": 1e6, "b": 1e6 + 1}
    fill(store, "a", number=10)
    served(store, rotation, [20])
    assert max(shares._come.values()) < 10
