"""What can be said of a queue: declared, set over that, and refused if it makes no sense."""

from datetime import timedelta
from typing import Any

import pytest

from holdfast import Breaker, DeclarationError, Holdfast, InvalidInput, InvalidName, UnknownOption
from holdfast.model import queue as model
from holdfast.model.queue import LaneRecord, Limits, QueueOverlay, QueuePolicy, Rate
from holdfast.policy.moments import SECOND


def noop(number: int = 0) -> int:
    return number


def test_a_declaration_comes_to_a_policy(app: Holdfast) -> None:
    app.queue(
        "mail", order="lifo", rate="100/m", burst=20, max_running=8, breaker=Breaker(10, timedelta(minutes=5), 3),
        lane_rate="1/s", lane_burst=2, lane_max_running=1, lane_breaker=Breaker(3, 60, 1), weights={"gold": 4},
    )  # fmt: skip
    app.declare_queues()
    assert app.queues["mail"].record().policy == QueuePolicy(
        "lifo",
        Limits(Rate(600_000, 20), 8, model.Breaker(10, 300 * SECOND, 3)),
        Limits(Rate(SECOND, 2), 1, model.Breaker(3, 60 * SECOND, 1)),
        {"gold": 4},
    )


@pytest.mark.parametrize("minute", [60, 60.0, timedelta(minutes=1)])
def test_the_time_in_which_a_job_gains_a_point_is_a_duration(app: Holdfast, minute: Any) -> None:
    app.queue("mail", ageing=minute)
    assert app.declared_queues == {"mail": QueuePolicy(ageing_us=60 * SECOND)}


def test_what_is_not_said_is_no_limit(app: Holdfast) -> None:
    app.queue("a")
    app.queue("b", rate=None, burst=None, max_running=None, breaker=None, lane_rate=None, ageing=None)
    assert app.declared_queues == {"a": QueuePolicy(), "b": QueuePolicy()}


def test_a_breaker_has_the_numbers_of_old() -> None:
    breaker = Breaker()
    assert (breaker.failures, breaker.pause, breaker.probes) == (10, 300, 3)
    assert repr(breaker) == "Breaker(failures=10, pause=300, probes=3)"


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"ratte": "1/s"}, UnknownOption, "a queue has no option 'ratte'; did you mean 'rate'"),
    ({"order": "random"}, InvalidInput, "expected order to be 'fifo' or 'lifo', got: 'random'"),
    ({"rate": "fast"}, InvalidInput, "expected rate to be a number of starts over a time, such as '100/m'"),
    ({"rate": 5}, InvalidInput, "expected rate to be a number of starts"),
    ({"lane_rate": "1/y"}, InvalidInput, "expected lane_rate to be a number of starts"),
    ({"rate": "5/s", "burst": 0}, InvalidInput, "the burst of rate to be an integer from 1 to 1000000, got: 0"),
    ({"burst": 5}, InvalidInput, "expected a rate to go with a burst of 5"),
    ({"lane_burst": 5}, InvalidInput, "expected a lane_rate to go with a burst of 5"),
    ({"max_running": 0}, InvalidInput, "expected max_running to be an integer of 1 or more, got: 0"),
    ({"lane_max_running": 2.0}, InvalidInput, "expected lane_max_running to be an integer of 1 or more, got: 2.0"),
    ({"breaker": (10, 300, 3)}, InvalidInput, "expected breaker to be a Breaker, e.g. Breaker"),
    ({"lane_breaker": 10}, InvalidInput, "expected lane_breaker to be a Breaker"),
    ({"weights": {"gold": 0}}, InvalidInput, "the weight of 'gold' in weights to be an integer from 1 to 100, got: 0"),
    ({"weights": {"": 1}}, InvalidName, "expected a lane to be printable text of 1 to 256 characters, got: ''"),
    ({"ageing": 0}, InvalidInput, "expected ageing to be more than 0 seconds, got: 0; leave it out for none"),
    ({"ageing": 0.0000001}, InvalidInput, "expected ageing to be more than 0 seconds, got: 1e-07"),
    ({"ageing": "1m"}, InvalidInput, "expected ageing to be a number of seconds or a timedelta, got: '1m'"),
    ({"ageing": -1}, InvalidInput, "expected ageing to be 0 or more seconds"),
    ({"order": "lifo", "ageing": 60}, InvalidInput, "expected either order='lifo' or ageing, got both"),
    ({"weights": ["gold"]}, InvalidInput, "expected weights to give lanes their weights"),
]


@pytest.mark.parametrize(("given", "kind", "words"), WRONG)
def test_what_makes_no_sense_is_refused_with_one_sentence(
    app: Holdfast, given: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        app.queue("mail", **given)
    with pytest.raises(kind, match=words):
        app.queues["mail"].set(**given)
    assert app.queues.names() == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"failures": 0}, "the failures of breaker to be an integer from 1"),
        ({"pause": -1}, "the pause of breaker to be 0 or more seconds"),
        ({"pause": "long"}, "the pause of breaker to be a number of seconds or a timedelta"),
        ({"probes": True}, "the probes of breaker to be an integer from 1"),
    ],
)
def test_a_senseless_breaker_is_refused_where_it_is_made(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Breaker(**given)


def test_two_equal_declarations_are_one(app: Holdfast) -> None:
    app.queue("a", rate="60/m", breaker=Breaker(5))
    app.queue("a", rate="1/s", breaker=Breaker(5))
    with pytest.raises(DeclarationError, match="declared twice, in different ways"):
        app.queue("a", rate="2/s", breaker=Breaker(5))


# --- set and unset ----------------------------------------------------------------------------------------------------


def test_what_is_set_goes_before_what_is_declared_until_it_is_unset(app: Holdfast) -> None:
    queue = app.queue("mail", max_running=8)
    app.declare_queues()
    assert (queue.set(max_running=2), queue.set(max_running=2)) == (True, False)
    assert queue.set(rate="1/s", burst=3)
    record = queue.record()
    assert (record.policy.limits, record.overlay) == (
        Limits(Rate(SECOND, 3), 2),
        QueueOverlay(rate=Rate(SECOND, 3), max_running=2),
    )
    assert queue.unset("max_running")
    assert queue.record().policy.limits == Limits(Rate(SECOND, 3), 8)
    assert (queue.unset(), queue.unset()) == (True, False)
    assert queue.record().policy.limits == Limits(max_running=8)


def test_everything_that_can_be_set_can_be_unset(app: Holdfast) -> None:
    queue = app.queue("mail")
    app.declare_queues()
    assert queue.set(max_size=3, on_full="spill", spill_ttl=60, block_timeout=5)
    assert queue.unset("spill_ttl", "block_timeout")
    assert queue.record().overlay == QueueOverlay(max_size=3, on_full="spill")
    queue.set(spill_ttl=60)
    queue.unset()
    assert queue.record().overlay == QueueOverlay()


def test_a_limit_that_is_set_to_none_is_taken_away(app: Holdfast) -> None:
    queue = app.queue("mail", rate="0/s", max_running=8)
    app.declare_queues()
    queue.set(rate=None, max_running=None)
    assert queue.record().policy == QueuePolicy()


def test_ageing_is_set_over_a_fifo_queue_only_and_unset_by_its_name(app: Holdfast) -> None:
    queue = app.queue("mail", ageing=60)
    app.declare_queues()
    both = "expected either order='lifo' or ageing, got both: set order='fifo' or ageing=None as well"
    with pytest.raises(InvalidInput, match=both):
        queue.set(order="lifo")
    assert queue.set(order="lifo", ageing=None)
    with pytest.raises(InvalidInput, match=both):
        queue.set(ageing=5)
    assert queue.set(ageing=5, order="fifo")
    assert queue.set(rate="1/s"), "what has nothing to do with it is not refused"
    assert queue.record().policy.ageing_us == 5 * SECOND
    assert queue.unset("ageing")
    assert queue.record().policy.ageing_us == 60 * SECOND


def test_setting_nothing_and_unsetting_what_is_not_there_are_refused(app: Holdfast) -> None:
    with pytest.raises(InvalidInput, match="expected something to set"):
        app.queues["mail"].set()
    with pytest.raises(
        UnknownOption, match="nothing called 'max_runing' can be unset of a queue; did you mean 'max_running'"
    ):
        app.queues["mail"].unset("max_runing")


# --- lanes ------------------------------------------------------------------------------------------------------------


def test_lanes_are_shown_paused_and_resumed(app: Holdfast) -> None:
    task = app.task(name="noop", queue="crawl")(noop)
    queue = app.queues["crawl"]
    app.enqueue_many([task.using(lane="a").s(), task.using(lane="b").s(), task.s()])
    assert (queue.pause(lane="a"), queue.pause(lane="a")) == (True, False)
    assert queue.lanes() == [
        LaneRecord("", 1, 0, "open"), LaneRecord("a", 1, 0, "paused"), LaneRecord("b", 1, 0, "open"),
    ]  # fmt: skip
    assert app.drain() == 2
    assert not queue.is_paused()
    assert (queue.resume(lane="a"), queue.resume(lane="a")) == (True, False)
    assert app.drain() == 1
    assert queue.lanes() == []


@pytest.mark.parametrize("lane", ["", "a\x00b", "a\nb", "x" * 257, 5])
def test_an_odd_lane_is_refused(app: Holdfast, lane: Any) -> None:
    for act in (app.queues["crawl"].pause, app.queues["crawl"].resume):
        with pytest.raises(InvalidName, match="expected a lane to be printable text of 1 to 256 characters"):
            act(lane=lane)
