"""Run a worker: what the command line (or a test) calls."""

from collections.abc import Callable

import msgspec

from holdfast.errors import InvalidInput, StoreUnavailable
from holdfast.model.query import StoreInfo
from holdfast.policy.names import check_queue
from holdfast.policy.shares import queue_weights
from holdfast.store.protocol import Store
from holdfast.worker.door import Door, parse_address
from holdfast.worker.messages import Hello
from holdfast.worker.plan import Plan
from holdfast.worker.supervisor import Supervisor


class WorkerStart(msgspec.Struct, frozen=True):
    """What a worker says of itself when it starts."""

    store: StoreInfo
    worker: str
    tasks: tuple[str, ...]
    queues: tuple[str, ...]
    """Empty means all."""
    weights: dict[str, int]
    is_strict: bool
    processes: int
    threads: int
    is_signed: bool
    health: str | None = None
    """The URL at which it tells how it is, if it does."""


def run_worker(plan: Plan, announce: Callable[[WorkerStart], None] | None = None) -> int:
    """Run a worker in this process until a signal, and return its exit code. To be called from the main thread.

    0: stopped in order (or nothing was left to do, in a burst). 3: the grace ended and running jobs were handed back.
    Raises HoldfastError if it cannot start.
    """
    check_plan(plan)
    door = Door(plan.health) if plan.health else None  # before anything else: an address in use must start nothing

    def tell(hello: Hello, store: Store, worker: str) -> None:
        if store.describe().kind == "memory":
            raise StoreUnavailable("memory:// lives inside one process; use `with app.worker():` there, or sqlite:///")
        if announce is not None:
            tasks = tuple(sorted(task.name for task in hello.tasks))
            announce(
                WorkerStart(
                    store.describe(), worker, tasks, plan.queues, plan.weights, plan.is_strict, plan.processes,
                    hello.threads, hello.is_signed, None if door is None else door.address.url,
                )
            )  # fmt: skip

    try:
        return Supervisor(plan, tell, door).run()
    finally:
        if door is not None:
            door.close()


def check_plan(plan: Plan) -> None:
    """Refuse what makes no sense, before anything is started."""
    check_target(plan.target)
    for name in plan.queues:
        check_queue(name)
    if plan.weights and set(queue_weights(plan.weights)) != set(plan.queues):
        raise InvalidInput(f"expected a weight for each queue or for none, got: {plan.weights} for {plan.queues}")
    if plan.is_strict and (plan.weights or not plan.queues):
        raise InvalidInput("expected --strict to go with --queues in their order, without weights, e.g. --queues a,b")
    if plan.health:
        parse_address(plan.health)
    for what, value, least, unit in (
        ("processes", plan.processes, 1, ""),
        ("threads", plan.threads, 0, ""),
        ("coroutines", plan.coroutines, 1, ""),
        ("lease", plan.lease_s, 1, " second"),
        ("grace", plan.grace_s, 0, " seconds"),
        ("max-runs", plan.max_runs, 0, ""),
        ("max-rss", plan.max_rss_bytes, 0, " bytes"),
        ("max-age", plan.max_age_s, 0, " seconds"),
    ):
        if not value >= least:
            raise InvalidInput(f"expected {what} to be {least}{unit} or more, got: {value!r}")


def check_target(target: str) -> str:
    """Check the form MODULE:APP."""
    module, colon, name = target.partition(":")
    if module and colon and name and not target.startswith("-"):
        return target
    raise InvalidInput(f"expected the app as MODULE:APP, e.g. shop.tasks:app, got: {target!r}")
