"""Packets between a supervisor and a child: whole or not at all.

A packet socket (SOCK_SEQPACKET) keeps messages apart and tells of the other side's death. Whoever receives a packet owns
what is in it: until then the supervisor, which keeps a copy of the child's end, can receive it itself and so take it back.

A packet has a size limit, a payload need not: a message that is too large for one packet travels in an anonymous file
whose descriptor is the packet.
"""

import array
import mmap
import os
import socket
import threading
from typing import Final, Self

import msgspec

from holdfast.worker.messages import Message

LARGEST: Final = 16_000
_INLINE: Final = b"i"
_IN_FILE: Final = b"f"
_DESCRIPTOR_BYTES: Final = array.array("i").itemsize


class ChannelClosed(Exception):
    """The other side is gone."""


class Channel:
    """One end of a pair. Sending is safe from many threads; receiving belongs to one."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._lock = threading.Lock()
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)

    @classmethod
    def pair(cls) -> tuple[Self, Self]:
        left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return cls(left), cls(right)

    @classmethod
    def inherited(cls, fd: int) -> Self:
        return cls(socket.socket(fileno=fd))

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Message, *, is_blocking: bool = True) -> bool:
        """Send one message. Return False if there is no room now and we may not wait.

        Raises ChannelClosed if nobody can receive it any more.
        """
        data = self._encoder.encode(message)
        flags = 0 if is_blocking else socket.MSG_DONTWAIT
        try:
            with self._lock:
                if len(data) <= LARGEST:
                    self._socket.send(_INLINE + data, flags)
                else:
                    self._send_file(data, flags)
        except BlockingIOError:
            return False
        except OSError as error:
            raise ChannelClosed(str(error)) from error
        return True

    def receive(self, *, is_blocking: bool = True) -> Message | None:
        """Receive one message; None if there is none now and we may not wait. Raises ChannelClosed at the end."""
        flags = 0 if is_blocking else socket.MSG_DONTWAIT
        try:
            packet, ancillary, _, _ = self._socket.recvmsg(LARGEST + 1, socket.CMSG_LEN(_DESCRIPTOR_BYTES), flags)
        except BlockingIOError:
            return None
        except OSError as error:
            raise ChannelClosed(str(error)) from error
        if not packet:
            raise ChannelClosed("the other side has closed the channel")
        data = packet[1:] if packet[:1] == _INLINE else _from_file(ancillary)
        return self._decoder.decode(data)

    def close(self) -> None:
        self._socket.close()

    def _send_file(self, data: bytes, flags: int) -> None:
        fd = os.memfd_create("holdfast-packet", os.MFD_CLOEXEC)
        try:
            with open(fd, "wb", closefd=False) as file:
                file.write(data)
            socket.send_fds(self._socket, [_IN_FILE], [fd], flags)
        finally:
            os.close(fd)


def _from_file(ancillary: list[tuple[int, int, bytes]]) -> bytes:
    descriptors = array.array("i")
    for _, _, data in ancillary:
        descriptors.frombytes(data[: len(data) - len(data) % _DESCRIPTOR_BYTES])
    fd = descriptors[0]
    try:
        with mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as content:
            return bytes(content)
    finally:
        os.close(fd)
