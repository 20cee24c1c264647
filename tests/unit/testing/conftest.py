"""An app on an empty memory store and a clock that starts at noon."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from holdfast import Holdfast
from holdfast.testing import VirtualClock, isolated

NOON = datetime(2030, 5, 17, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(NOON)


@pytest.fixture
def app(clock: VirtualClock) -> Iterator[Holdfast]:
    app = Holdfast("sqlite:////nowhere/never-opened.db", secret="a secret that is long enough to sign with")
    with isolated(app, clock):
        yield app
