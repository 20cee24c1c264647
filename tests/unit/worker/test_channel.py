"""Packets between a supervisor and a child."""

import pytest

from holdfast.model.claim import Claim
from holdfast.worker.channel import Channel, ChannelClosed
from holdfast.worker.messages import Handed, Message, TakeBack, Told, Work
from holdfast.worker.sender import Sender


def work_of(number: int, size: int = 10) -> Work:
    return Work([(number, Claim(f"job-{number}", f"1-{number}", "q", "t", b"x" * size, None, 0, 0, 3, 0))])


def received(channel: Channel) -> list[Message]:
    found: list[Message] = []
    while (message := channel.receive(is_blocking=False)) is not None:
        found.append(message)
    return found


@pytest.mark.parametrize("size", [0, 10, 15_000, 20_000, 3_000_000])
def test_a_message_arrives_as_it_was_sent_however_large(size: int) -> None:
    ours, theirs = Channel.pair()
    assert ours.send(work_of(1, size))
    assert theirs.receive() == work_of(1, size)
    ours.close()
    theirs.close()


def test_the_end_of_the_other_side_is_noticed_after_what_it_had_said() -> None:
    ours, theirs = Channel.pair()
    ours.send(TakeBack())
    ours.close()
    assert theirs.receive() == TakeBack()
    with pytest.raises(ChannelClosed):
        theirs.receive()
    with pytest.raises(ChannelClosed):
        theirs.send(Handed([1]))
    theirs.close()


def test_whoever_receives_a_packet_owns_it() -> None:
    """Two holders of one end, as supervisor and child are: each packet goes to exactly one of them."""
    ours, theirs = Channel.pair()
    copy = Channel.inherited(theirs.fileno())
    for number in range(4):
        ours.send(work_of(number))
    assert theirs.receive() == work_of(0)
    assert received(copy) == [work_of(1), work_of(2), work_of(3)]
    assert theirs.receive(is_blocking=False) is None
    ours.close()
    copy._socket.detach()
    theirs.close()


def test_a_receiver_that_does_not_receive_holds_up_nobody() -> None:
    """A child that hangs must not make its supervisor hang."""
    ours, theirs = Channel.pair()
    sender = Sender(ours)
    sent = [work_of(number) for number in range(2000)]
    for work in sent:
        sender.send(work)
    got = received(theirs)
    assert len(got) < len(sent), "there was room for all: the test shows nothing"
    while len(got) < len(sent):
        sender.flush()
        got += received(theirs)
    assert got == sent, "in order, and none lost"
    ours.close()
    theirs.close()


def test_what_was_not_sent_can_be_kept_back() -> None:
    ours, theirs = Channel.pair()
    sender = Sender(ours)
    sent = [work_of(number) for number in range(2000)]
    for work in sent:
        sender.send(work)
    kept = sender.take_unsent()
    assert received(theirs) + kept == sent
    sender.flush()
    assert received(theirs) == []
    ours.close()
    theirs.close()


def test_sending_to_one_that_is_gone_is_no_error_for_a_sender() -> None:
    ours, theirs = Channel.pair()
    theirs.close()
    sender = Sender(ours)
    sender.send(Told([]))
    assert sender.take_unsent() == []
    ours.close()
