"""Bounded queues as a program meets them: refused, waited for, set aside."""

import threading

import pytest

from holdfast import Holdfast, InvalidInput, QueueFull


def app_with(**bound: object) -> Holdfast:
    app = Holdfast("memory://")
    app.queue("small", **bound)  # type: ignore[arg-type]  # the tests give what a program could

    @app.task(name="work", queue="small")
    def work(number: int) -> int:
        return number

    return app


def test_a_full_queue_refuses_with_the_remedy() -> None:
    """I30"""
    app = app_with(max_size=1)
    app.enqueue("work", 1)
    with pytest.raises(QueueFull, match=r"its queue is full\. Nothing was stored\. .*max_size or on_full"):
        app.enqueue("work", 2)
    assert app.queues["small"].record().refused == 1


def test_refused_calls_of_a_batch_are_marked() -> None:
    app = app_with(max_size=2)
    handles = app.enqueue_many(app.tasks["work"].s(number) for number in range(4))
    assert [handle.decision for handle in handles] == ["created", "created", "refused", "refused"]


def test_a_blocked_producer_goes_on_when_there_is_room() -> None:
    app = app_with(max_size=2, on_full="block")
    done = threading.Event()

    def produce() -> None:
        app.enqueue_many(app.tasks["work"].s(number) for number in range(10))
        done.set()

    producer = threading.Thread(target=produce, daemon=True)
    producer.start()
    assert not done.wait(0.1)
    with app.worker(threads=1):
        assert done.wait(10)
        assert app.wait_drained("small", timeout=10)
    assert app.queues["small"].counts() == {"succeeded": 10}


def test_a_blocked_producer_gives_up_when_its_time_is_over() -> None:
    app = app_with(max_size=0, on_full="block", block_timeout=0.05)
    with pytest.raises(QueueFull):
        app.enqueue("work", 1)


def test_a_spilled_job_says_so_and_runs_in_its_turn() -> None:
    app = app_with(max_size=1, on_full="spill", spill_ttl=60)
    first, second = app.enqueue("work", 1), app.enqueue("work", 2)
    assert (first.decision, second.decision, second.state()) == ("created", "spilled", "spilled")
    assert app.drain() == 2
    assert second.result() == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"max_size": -1}, "expected max_size to be an integer of 0 or more, got: -1"),
        ({"max_size": "many"}, "expected max_size to be an integer of 0 or more, got: 'many'"),
        ({"on_full": "drop"}, "expected on_full to be 'reject', 'block' or 'spill', got: 'drop'"),
        ({"spill_ttl": -1}, "expected spill_ttl to be 0 or more seconds"),
        ({"block_timeout": "soon"}, "expected block_timeout to be a number of seconds"),
    ],
)
def test_a_senseless_bound_is_refused_with_one_sentence(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence.replace("(", r"\(")):
        app_with(**options)
