"""How a worker is judged by its marks, and which addresses it can be asked at."""

import pytest

from holdfast.errors import InvalidInput
from holdfast.worker.checkup import Checkup
from holdfast.worker.crew import Crew
from holdfast.worker.door import Address, parse_address
from holdfast.worker.vitals import Vitals

NOW = 1000.0


class Staff(Crew):
    """A crew with so many ready children."""

    def __init__(self, ready: int) -> None:
        super().__init__(lambda: None)
        self._ready = ready

    def states(self) -> dict[str, int]:
        return {"starting": 0, "ready": self._ready, "retiring": 0}


def vitals(**marks: object) -> Vitals:
    """Give the marks of a healthy worker, but for those given."""
    made = Vitals(lease_s=10)
    healthy = {"main_turned": NOW, "keeper_turned": NOW, "reached": NOW, "lease_until": NOW + 8}
    for name, value in (healthy | marks).items():
        setattr(made, name, value)
    return made


def checkup(made: Vitals, ready: int = 1) -> Checkup:
    return Checkup(made, Staff(ready), None, None)  # type: ignore[arg-type]  # no figures are asked for


def test_a_healthy_worker_is_live_and_ready() -> None:
    healthy = checkup(vitals())
    assert (healthy.why_not_live(NOW), healthy.why_not_ready(NOW)) == (None, None)


@pytest.mark.parametrize(("mark", "what"), [("main_turned", "the main loop"), ("keeper_turned", "the store thread")])
def test_a_thread_that_has_not_turned_for_thirty_seconds_is_not_live(mark: str, what: str) -> None:
    ill = checkup(vitals(**{mark: NOW - 30}))
    assert ill.why_not_live(NOW) is None
    assert ill.why_not_live(NOW + 1) == f"{what} has not turned for 31 s"


def test_a_long_lease_is_waited_for() -> None:
    assert Vitals(lease_s=60).patience_s == 60


def test_a_worker_that_has_no_store_thread_yet_is_live_and_not_ready() -> None:
    young = checkup(vitals(keeper_turned=None))
    assert young.why_not_live(NOW) is None
    assert young.why_not_ready(NOW) == "the worker has not begun to claim"


@pytest.mark.parametrize(
    ("marks", "reason"),
    [
        ({"is_stopping": True}, "the worker is stopping"),
        ({"lease_until": NOW}, "the worker holds no live lease"),
        ({"reached": NOW - 11}, "the store has not been reached for 11 s"),
        ({"main_turned": NOW - 40}, "the main loop has not turned for 40 s"),
    ],
)
def test_what_is_missing_is_told(marks: dict[str, object], reason: str) -> None:
    assert checkup(vitals(**marks)).why_not_ready(NOW) == reason


def test_without_a_child_it_is_not_ready() -> None:
    assert checkup(vitals(), ready=0).why_not_ready(NOW) == "no child is ready"


@pytest.mark.parametrize(
    ("text", "address", "url"),
    [
        ("9100", Address("127.0.0.1", 9100), "http://127.0.0.1:9100"),
        ("0", Address("127.0.0.1", 0), "http://127.0.0.1:0"),
        ("0.0.0.0:80", Address("0.0.0.0", 80), "http://0.0.0.0:80"),
        ("[::1]:80", Address("::1", 80), "http://[::1]:80"),
        ("shop.example:80", Address("shop.example", 80), "http://shop.example:80"),
        ("unix:/run/shop.sock", Address(path="/run/shop.sock"), "unix:/run/shop.sock"),
    ],
)
def test_an_address_is_read(text: str, address: Address, url: str) -> None:
    assert parse_address(text) == address
    assert address.url == url


@pytest.mark.parametrize("text", ["", "x", "localhost", "65536", "-1", "::1:80", ":80", "[::1]", "unix:", "²"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="expected the address of the health door as PORT, HOST:PORT or unix:/path"):
        parse_address(text)
