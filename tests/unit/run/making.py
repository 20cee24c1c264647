"""Tasks, claims and a bench for tests of running: everything has a default, a test names only what it is about."""

import inspect
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from holdfast.model.claim import Claim
from holdfast.model.job import NewJob
from holdfast.run.bench import Bench
from holdfast.run.pump import Plan, Pump
from holdfast.run.spec import Registry, TaskSpec
from holdfast.store.protocol import Store
from holdfast.testing.contract.background_call import DEADLINE_S
from holdfast.testing.contract.sample_jobs import state
from holdfast.testing.contract.virtual_clock import START_US
from holdfast.wire.codec import Codec
from holdfast.wire.envelope import FORMAT, Envelope, seal_in
from holdfast.wire.keyring import KeyRing
from holdfast.wire.parameters import Parameters
from holdfast.wire.payload import pack
from holdfast.wire.seal import seal_job

TASK = "shop.send"


def spec_of(function: Callable[..., Any], name: str = TASK, **rules: Any) -> TaskSpec:
    kind = "async" if inspect.iscoroutinefunction(function) else "sync"
    return TaskSpec(name, function, kind, Parameters.of(function), **rules)


def bench_of(*tasks: TaskSpec | Callable[..., Any], **given: Any) -> Bench:
    """A bench for these tasks, on which chance is 0 and the time is fixed."""
    specs = [task if isinstance(task, TaskSpec) else spec_of(task) for task in tasks]
    return Bench(Registry.of(*specs), Codec(), **{"chance": lambda: 0.0, "now_us": lambda: START_US} | given)


def envelope_of(job_id: str, *args: Any, task: str = TASK, queue: str = "default", **fields: Any) -> bytes:
    payload = fields.pop("payload", None) or pack(args, fields.pop("kwargs", {}), Codec(), str)
    return seal_in(Envelope(FORMAT, job_id, task, queue, 0, 0, None, None, payload, **fields))


def job_of(*args: Any, ring: KeyRing | None = None, queue: str = "default", task: str = TASK, **fields: Any) -> NewJob:
    """A job as the clerk would write it."""
    job_id = uuid4().hex
    envelope = envelope_of(job_id, *args, task=task, queue=queue, **fields)
    return NewJob(job_id, queue, task, envelope, seal_job(ring, job_id, envelope))


def claim_of(*args: Any, failures: int = 0, crashes: int = 0, **fields: Any) -> Claim:
    """A claim of such a job, as a store would hand it out."""
    job = job_of(*args, **fields)
    return Claim(
        job.id,
        uuid4().hex,
        job.queue,
        job.task,
        job.envelope,
        job.seal,
        failures,
        crashes,
        crash_budget=3,
        claimed_us=0,
    )


@contextmanager
def pump_on(store: Store, bench: Bench, **plan: Any) -> Iterator[Pump]:
    """A pump that runs in the background."""
    pump = Pump(store, bench, Plan(**plan))
    pump.start()
    try:
        yield pump
    finally:
        pump.stop()


def wait_until(is_so: Callable[[], object], what: str, within_s: float = DEADLINE_S) -> None:
    """Wait for what other threads bring about and nobody signals. Looks often; fails loudly at the deadline."""
    deadline = time.monotonic() + within_s
    look = threading.Event()
    while not is_so():
        assert time.monotonic() < deadline, f"not within {within_s} s: {what}"
        look.wait(0.002)


def push(store: Any, *args: Any, **fields: Any) -> str:
    """Push a job and give its id."""
    job = job_of(*args, **fields)
    store.push([job])
    return job.id


def await_state(store: Store, job_id: str, wanted: str) -> None:
    wait_until(lambda: state(store, job_id) == wanted, f"job in state {wanted}")


def our_threads() -> list[str]:
    """Name the threads that Holdfast has started, but the one that watches the limits of all threads: it stays."""
    names = [thread.name for thread in threading.enumerate() if thread.name.startswith("holdfast-")]
    return sorted(name for name in names if name != "holdfast-timeouts")


class Gate:
    """A task that says when it has begun, and ends when it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.open = threading.Event()

    def __call__(self, number: int = 0) -> int:
        self.begun.release()
        assert self.open.wait(DEADLINE_S), "nobody opened the gate"
        return number

    def await_begun(self, count: int = 1) -> None:
        for _ in range(count):
            assert self.begun.acquire(timeout=DEADLINE_S), "it has not begun"
