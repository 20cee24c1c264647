"""Every store of ours passes the suite that we ship. We come by the door that others use."""

import os
from typing import Final

import pytest

from holdfast.testing.contract import *  # noqa: F403 - how a suite is taken in: pytest runs what it finds here

PROGRAMS: Final = {"memory": 350, "split": 150, "sqlite": 200}


@pytest.fixture
def programs(kind: str) -> int:
    """More where they cost little; more still where time is not counted."""
    return int(os.environ.get("HOLDFAST_MODEL_PROGRAMS", "0")) or PROGRAMS.get(kind, 70)
