"""The contract while claims are made from shelves: everything that has to do with what is ready, and in which order."""

from collections.abc import Callable

import pytest

from holdfast.store.postgres import shelves
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.protocol import Clock, Store
from holdfast.testing.contract.breaker import *  # noqa: F403 - how a part of the suite is taken in
from holdfast.testing.contract.claim import *  # noqa: F403
from holdfast.testing.contract.expiry import *  # noqa: F403
from holdfast.testing.contract.fixtures import *  # noqa: F403
from holdfast.testing.contract.identity import *  # noqa: F403
from holdfast.testing.contract.lanes import *  # noqa: F403
from holdfast.testing.contract.limits import *  # noqa: F403
from holdfast.testing.contract.model import *  # noqa: F403
from holdfast.testing.contract.operator import *  # noqa: F403
from holdfast.testing.contract.order import *  # noqa: F403
from holdfast.testing.contract.parking import *  # noqa: F403
from holdfast.testing.contract.queues import *  # noqa: F403
from holdfast.testing.contract.wait import *  # noqa: F403
from tests.support.servers_postgres import empty_url

pytestmark = pytest.mark.timeout(600)
"""The test against the model opens hundreds of stores."""


@pytest.fixture
def programs() -> int:
    return 50


@pytest.fixture
def open_store(monkeypatch: pytest.MonkeyPatch) -> Callable[[Clock | None], Store]:
    monkeypatch.setattr(shelves, "MANY_DEAD", -1)
    return lambda clock: PostgresStore.open(empty_url(), clock=clock)
