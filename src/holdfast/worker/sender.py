"""Sending that never waits. A child that does not receive, because it is busy or hangs, must not hold up its supervisor.

What the channel has no room for is kept here, in order, and sent when there is room: at the latest with the next word
from the child, since a child that speaks has received.
"""

from collections import deque

from holdfast.worker.channel import Channel, ChannelClosed
from holdfast.worker.messages import Message


class Sender:
    """One channel's sending side."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._unsent: deque[Message] = deque()

    def send(self, message: Message) -> None:
        """Send, now or later. To a child that is gone, never: whoever watches the process takes back what it held."""
        self._unsent.append(message)
        self.flush()

    def flush(self) -> None:
        """Send what was kept, as far as there is room."""
        try:
            while self._unsent and self._channel.send(self._unsent[0], is_blocking=False):
                self._unsent.popleft()
        except ChannelClosed:
            self._unsent.clear()

    def take_unsent(self) -> list[Message]:
        """Give what was not sent, and forget it."""
        unsent = list(self._unsent)
        self._unsent.clear()
        return unsent
