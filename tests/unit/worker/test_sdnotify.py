"""What is said to systemd, and when there is nothing to say."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.worker.sdnotify import Herald


class Ear:
    def __init__(self, path: Path) -> None:
        self.address = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.address)
        self._socket.setblocking(False)

    def heard(self) -> list[str]:
        try:
            return self._socket.recv(4096).decode().split("\n")
        except BlockingIOError:
            return []

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[Ear]:
    made = Ear(tmp_path / "notify")
    yield made
    made.close()


def test_ready_is_said_once_and_a_status_when_it_changes(ear: Ear) -> None:
    herald = Herald({"NOTIFY_SOCKET": ear.address})
    herald.tell("starting", is_live=True, is_ready=False)
    assert ear.heard() == ["STATUS=starting"]
    herald.tell("at work", is_live=True, is_ready=True)
    assert ear.heard() == ["READY=1", "STATUS=at work"]
    herald.tell("at work", is_live=True, is_ready=True)
    assert ear.heard() == []
    herald.stopping()
    assert ear.heard() == ["STOPPING=1"]


def test_the_watchdog_is_fed_only_while_the_worker_is_live(ear: Ear) -> None:
    herald = Herald({"NOTIFY_SOCKET": ear.address, "WATCHDOG_USEC": "0000001"})
    herald.tell("", is_live=False, is_ready=False)
    assert ear.heard() == []
    herald.tell("", is_live=True, is_ready=False)
    assert ear.heard() == ["WATCHDOG=1"]


def test_the_main_loop_wakes_at_half_of_the_watchdogs_time(ear: Ear) -> None:
    herald = Herald({"NOTIFY_SOCKET": ear.address, "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())})
    assert herald.left_s() <= 0
    herald.tell("", is_live=True, is_ready=True)
    assert 0.5 < herald.left_s() <= 1
    quick = Herald({"NOTIFY_SOCKET": ear.address, "WATCHDOG_USEC": "1000000"})
    quick.tell("", is_live=True, is_ready=True)
    assert 0 < quick.left_s() <= 0.5
    quick.tell("", is_live=False, is_ready=True)
    assert 0 < quick.left_s() <= 0.5, "a worker that is not live does not spin"


@pytest.mark.parametrize("microseconds", ["", "0", "-5", "soon"])
def test_a_watchdog_without_a_time_is_none(ear: Ear, microseconds: str) -> None:
    herald = Herald({"NOTIFY_SOCKET": ear.address, "WATCHDOG_USEC": microseconds})
    herald.tell("", is_live=True, is_ready=False)
    assert ear.heard() == []


@pytest.mark.parametrize("name", [None, "", "vsock:2:1234", "relative"])
def test_without_a_socket_there_is_never_anything_to_say(name: str | None) -> None:
    herald = Herald({"WATCHDOG_USEC": "1000000"} | ({} if name is None else {"NOTIFY_SOCKET": name}))
    herald.tell("x", is_live=True, is_ready=True)
    herald.stopping()
    assert herald.left_s() == float("inf")


def test_the_variables_are_taken_out_of_the_environment() -> None:
    environment = {"NOTIFY_SOCKET": "/nowhere", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1", "PATH": "/bin"}
    Herald(environment).tell("nobody hears this", is_live=True, is_ready=True)
    assert environment == {"PATH": "/bin"}
