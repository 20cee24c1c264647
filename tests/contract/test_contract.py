"""Every store of ours passes the suite that we ship. We come by the door that others use."""

import pytest

from holdfast.testing.contract import *  # noqa: F403 - how a suite is taken in: pytest runs what it finds here


@pytest.fixture
def programs(kind: str) -> int:
    """More where they cost little."""
    return 800 if kind == "memory" else 300
