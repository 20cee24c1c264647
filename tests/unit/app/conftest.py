from collections.abc import Iterator

import pytest

from holdfast import Holdfast
from holdfast.testing.contract.virtual_clock import VirtualClock


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine says must not decide a test."""
    for name in ("HOLDFAST_URL", "HOLDFAST_SECRET", "HOLDFAST_NAMESPACE", "HOLDFAST_APP"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def app(clock: VirtualClock) -> Iterator[Holdfast]:
    """An app in memory, whose time is the virtual clock's."""
    with Holdfast("memory://", clock=clock) as made:
        yield made


@pytest.fixture
def live() -> Iterator[Holdfast]:
    """An app in memory, on the machine's own clock: for what needs a worker in the background."""
    with Holdfast("memory://") as made:
        yield made
