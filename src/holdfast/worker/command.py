"""Run a worker: what the command line (or a test) calls."""

from collections.abc import Callable, Sequence

import msgspec

from holdfast.errors import InvalidInput, StoreUnavailable
from holdfast.model.query import StoreInfo
from holdfast.policy.moments import duration_us
from holdfast.policy.names import check_queue
from holdfast.store.protocol import Store
from holdfast.worker.messages import Hello
from holdfast.worker.supervisor import Plan, Supervisor


class WorkerStart(msgspec.Struct, frozen=True):
    """What a worker says of itself when it starts."""

    store: StoreInfo
    worker: str
    tasks: tuple[str, ...]
    queues: tuple[str, ...]
    """Empty means all."""
    processes: int
    is_signed: bool


def run_worker(
    target: str,
    *,
    processes: int = 1,
    coroutines: int = 100,
    queues: Sequence[str] | None = None,
    burst: bool = False,
    lease_s: float = 10,
    grace_s: float = 25,
    log_level: str = "INFO",
    announce: Callable[[WorkerStart], None] | None = None,
) -> int:
    """Run a worker for `target` ("module:app") in this process until a signal, and return its exit code.

    0: stopped in order (or nothing was left to do, with `burst`). 3: the grace ended and running jobs were handed back.
    Raises HoldfastError if it cannot start. To be called from the main thread.
    """
    names = tuple(check_queue(name) for name in queues or ())
    plan = Plan(
        check_target(target),
        _positive(processes, "processes"),
        _positive(coroutines, "coroutines"),
        names,
        burst,
        _lease_s(lease_s),
        duration_us(grace_s, "grace") / 1e6,
        log_level,
    )

    def tell(hello: Hello, store: Store, worker: str) -> None:
        if store.describe().kind == "memory":
            raise StoreUnavailable("memory:// lives inside one process; use `with app.worker():` there, or sqlite:///")
        if announce is not None:
            tasks = tuple(sorted(task.name for task in hello.tasks))
            announce(WorkerStart(store.describe(), worker, tasks, names, plan.processes, hello.is_signed))

    return Supervisor(plan, tell).run()


def check_target(target: str) -> str:
    """Check the form MODULE:APP."""
    module, colon, name = target.partition(":")
    if module and colon and name and not target.startswith("-"):
        return target
    raise InvalidInput(f"expected the app as MODULE:APP, e.g. shop.tasks:app, got: {target!r}")


def _positive(value: int, what: str) -> int:
    if isinstance(value, int) and value >= 1:
        return value
    raise InvalidInput(f"expected {what} to be 1 or more, got: {value!r}")


def _lease_s(value: float) -> float:
    if duration_us(value, "lease") >= 1_000_000:
        return value
    raise InvalidInput(f"expected lease to be 1 second or more, got: {value!r}")
