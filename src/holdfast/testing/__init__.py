"""The kit for testing code that uses Holdfast.

What is tested is always the real thing: jobs are packed, signed, stored in memory, claimed, unpacked and judged by the
code that a worker runs. Nothing is mocked but time. There are three ways to look at it:

    assert_enqueued    the code under test enqueued the right job; it is not run
    inline             every job runs at once, in the caller's thread; errors reach the caller
    drain              everything that is and will be due runs now: a virtual clock jumps from one due moment
                       to the next, so that days of retries take milliseconds

Where it happens: pytest's fixture `holdfast_app` gives the project's own app, moved to an empty memory store and to the
virtual clock `holdfast_clock` for one test. Without pytest, `with isolated(app) as clock:` does the same.

Loaded on first use: pytest imports this package, for its plugin, in projects that may never ask for it.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from holdfast.testing.assertions import assert_enqueued, assert_not_enqueued
    from holdfast.testing.clock import VirtualClock
    from holdfast.testing.inline_mode import inline
    from holdfast.testing.isolation import isolated
    from holdfast.testing.ran import Ran
    from holdfast.testing.timelapse import adrain, drain
    from holdfast.testing.waiting import Enqueued, enqueued

__all__ = [
    # where
    "isolated", "VirtualClock",
    # looking
    "assert_enqueued", "assert_not_enqueued", "enqueued", "Enqueued",
    # running
    "inline", "drain", "adrain", "Ran",
]  # fmt: skip

_HOMES: Final = {
    "isolated": "isolation",
    "VirtualClock": "clock",
    "assert_enqueued": "assertions",
    "assert_not_enqueued": "assertions",
    "enqueued": "waiting",
    "Enqueued": "waiting",
    "inline": "inline_mode",
    "drain": "timelapse",
    "adrain": "timelapse",
    "Ran": "ran",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
