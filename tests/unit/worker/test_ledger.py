import os

from holdfast.worker.ledger import PLACES, Ledger, monotonic_us


def test_what_one_side_writes_the_other_reads() -> None:
    ours, fd = Ledger.create()
    theirs = Ledger(fd)
    os.close(fd)
    before = monotonic_us()
    theirs.start(7)
    theirs.set_deadline(7, 123)
    assert before <= ours.started_us(7) <= monotonic_us()
    assert ours.deadline_us(7) == 123
    assert (ours.started_us(6), ours.deadline_us(8)) == (0, 0)
    ours.close()
    theirs.close()


def test_it_outlives_the_process_that_wrote_it() -> None:
    ours, fd = Ledger.create()
    child = os.fork()
    if child == 0:
        Ledger(fd).start(PLACES - 1)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(fd)
    assert ours.started_us(PLACES - 1) > 0
    ours.close()


def test_a_place_that_is_used_again_begins_empty() -> None:
    ours, fd = Ledger.create()
    os.close(fd)
    ours.start(3)
    ours.set_deadline(3, 5)
    ours.clear(3)
    assert (ours.started_us(3), ours.deadline_us(3)) == (0, 0)
    ours.close()
