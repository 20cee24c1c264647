"""Our stores, for the suite that we ship: each of its tests is run on all of them."""

from itertools import count
from pathlib import Path

import pytest

from holdfast.store.protocol import Clock, Store
from holdfast.testing.contract import OpenStore
from tests.support import stores

PATIENCE_S = 600
"""The test against the model opens hundreds of stores: on a busy machine the usual limit is too short."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name.startswith("test_the_store_agrees_with_the_model"):
            item.add_marker(pytest.mark.timeout(PATIENCE_S))


@pytest.fixture(params=stores.KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def open_store(kind: str, tmp_path: Path) -> OpenStore:
    numbers = count(1)

    def opened(clock: Clock | None) -> Store:
        folder = tmp_path / f"store-{next(numbers)}"
        folder.mkdir()
        return stores.open_store(kind, folder, clock)

    return opened
