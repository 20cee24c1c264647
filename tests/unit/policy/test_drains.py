"""When a queue has drained, and what is told of it, as a rule on its flow."""

from holdfast.policy.flow import Flow, begin_to_tell, look_for_drain, serve, tell_of_drain


def served() -> Flow:
    queue = Flow()
    serve(Flow(), queue, 1)
    return queue


def found(queue: Flow, *, running: bool = False, more: bool = False) -> int | None:
    return look_for_drain(queue, has_running=running, has_open=more)


def test_a_start_makes_a_queue_busy_and_only_an_empty_one_has_drained() -> None:
    queue = served()
    assert queue.is_busy
    assert [found(queue, running=True), found(queue, more=True), found(queue, running=True, more=True)] == [None] * 3
    assert found(queue) == 1
    assert not queue.is_busy


def test_a_queue_that_stays_empty_has_drained_once() -> None:
    queue = served()
    assert [found(queue), found(queue), queue.drains] == [1, 1, 1]
    tell_of_drain(queue, 1)
    assert [found(queue), queue.drains] == [None, 1]


def test_what_runs_makes_busy_whoever_has_noted_its_start() -> None:
    queue = Flow()
    assert found(queue) is None
    assert found(queue, running=True) is None
    assert found(queue) == 1


def test_what_was_told_is_never_more_than_has_happened_and_never_goes_back() -> None:
    queue = served()
    tell_of_drain(queue, 5)
    assert queue.told == 0
    found(queue)
    tell_of_drain(queue, 5)
    tell_of_drain(queue, 0)
    assert queue.told == 1


def test_who_begins_to_listen_hears_nothing_of_before() -> None:
    queue = served()
    found(queue)
    serve(Flow(), queue, 1)
    begin_to_tell(queue)
    assert [found(queue), queue.drains, queue.told] == [None, 1, 1]
