"""The contract behind a pooler by transaction, kept by sessions that are never the same twice.

What has to do with sessions is run here: pushing, claiming, settling, leases, waiting, lanes, limits, keys, bounds, ageing.
"""

from collections.abc import Callable

import pytest

from holdfast.store.postgres.store import PostgresStore
from holdfast.store.protocol import Clock, Store
from holdfast.testing.contract.ageing import *  # noqa: F403 - how a part of the suite is taken in
from holdfast.testing.contract.bounds import *  # noqa: F403
from holdfast.testing.contract.breaker import *  # noqa: F403
from holdfast.testing.contract.claim import *  # noqa: F403
from holdfast.testing.contract.fixtures import *  # noqa: F403
from holdfast.testing.contract.identity import *  # noqa: F403
from holdfast.testing.contract.lanes import *  # noqa: F403
from holdfast.testing.contract.leases import *  # noqa: F403
from holdfast.testing.contract.limits import *  # noqa: F403
from holdfast.testing.contract.push import *  # noqa: F403
from holdfast.testing.contract.settle import *  # noqa: F403
from holdfast.testing.contract.wait import *  # noqa: F403
from tests.support.pooler import pooled_url
from tests.support.servers_postgres import empty_url


@pytest.fixture
def open_store() -> Callable[[Clock | None], Store]:
    def opened(clock: Clock | None) -> Store:
        empty_url()
        return PostgresStore.open(pooled_url(), clock=clock)

    return opened
