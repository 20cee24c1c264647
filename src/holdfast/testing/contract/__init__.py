'''The contract of stores, as tests: a store that passes them behaves like those that come with Holdfast.

For whoever writes a store (the seam is `holdfast.store.protocol`). Install `holdfast[contract]`, then write two files.
`conftest.py` says how a store is opened, in one fixture:

    @pytest.fixture
    def open_store(tmp_path: Path) -> OpenStore:
        """Open a new, empty store on this clock; for None, on its own."""
        numbers = itertools.count()
        return lambda clock: MyStore(tmp_path / f"{next(numbers)}.db", clock=clock)

`test_contract.py` takes in the suite:

    from holdfast.testing.contract import *

and pytest does the rest. Give the fixture `params` and every kind of store runs every test.

**What `open_store` promises.** Each call gives a store with nothing in it. The suite closes each, and has no two open at a
time, so one server that is emptied at every call will do. A store opened with a clock goes by it and by nothing else: it
is a `VirtualClock`, which moves when a test moves it. Without one, the store's own clock must run.

**What is made of it.** `store`, on the virtual clock `clock`, for all that is decided by time. `live_store`, on its own
clock, for waiting and waking. And the test against the model: Hypothesis writes programs, each is run on a new store and
on a plain Python model of one, and after every operation the two must look the same. It fails with the shortest program
on which they do not. It takes the longest: some 300 stores are opened, one after the other. To run more programs,
define the fixture `programs` again, below the import.

**What is not proven.** That jobs outlive a crash or a power cut, that processes can share the store, and that it bears a
broken connection: these need your server, killed in your way.

Fixtures and tests are all that the import brings. Each topic is a module here, to be read as the specification of a
store; an `I` with a number in a test names the guarantee that it checks, in docs/guarantees.md.
'''

from typing import Final

try:
    from holdfast.testing.contract import (
        ageing,
        bounds,
        breaker,
        cancel,
        claim,
        drained,
        expiry,
        identity,
        inspect,
        lanes,
        leases,
        limits,
        model,
        operator,
        order,
        parking,
        push,
        queues,
        retention,
        seen,
        settle,
        tokens,
        wait,
    )
    from holdfast.testing.contract.fixtures import OpenStore, clock, live_store, programs, store, worker
except ModuleNotFoundError as error:
    if error.name not in ("pytest", "hypothesis"):
        raise
    needs = (
        f"the contract suite needs the package {error.name}, which is not installed: pip install 'holdfast[contract]'"
    )
    raise ModuleNotFoundError(needs, name=error.name) from error

TOPICS: Final = (
    push, claim, order, settle, tokens, leases, cancel, expiry, retention, parking, queues, operator, inspect, wait,
    ageing, lanes, limits, breaker, identity, seen, bounds, drained, model,
)  # fmt: skip

_tests: Final = {name: test for topic in TOPICS for name, test in vars(topic).items() if name.startswith("test_")}
globals().update(_tests)

__all__ = ["OpenStore", "clock", "live_store", "programs", "store", "worker"]
__all__ += list(_tests)
