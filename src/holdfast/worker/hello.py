"""What a child says of its app, so that the supervisor need not import it."""

import sys

from holdfast.app.app import Holdfast
from holdfast.errors import TaskTimeout
from holdfast.run.spec import TaskSpec
from holdfast.worker.messages import Begin, Hello, Slot, TaskInfo


def hello_of(app: Holdfast, begin: Begin) -> Hello:
    """Sum up an app: its store, its tasks, the queues it declares."""
    app.check_hooks()
    registry = app.bench().registry
    names = registry.names()
    specs = {spec.name: spec for name in names if (spec := registry.find(name)) is not None}
    tasks = tuple(_info(spec, begin.threads) for spec in specs.values())
    return Hello(
        url=app.url,
        namespace=app.namespace,
        tier=app.tier,
        is_signed=app.is_signed,
        threads=max(begin.threads, int(any(task.slot == "thread" for task in tasks))),
        tasks=tasks,
        names=names,
        queues=dict(app.declared_queues),
        files=source_files() if begin.names_files else (),
    )


def slot_of(spec: TaskSpec, threads: int) -> Slot:
    """Tell where a task runs: where it asks to; else sync tasks run in threads, if the child was given any."""
    if spec.kind == "async":
        return "loop"
    return spec.slot or ("thread" if threads else "main")


def source_files() -> tuple[str, ...]:
    """List the source files of the modules that are loaded here, except installed ones."""
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    return tuple(sorted(file for file in files if file and file.endswith(".py") and "site-packages" not in file))


def _info(spec: TaskSpec, threads: int) -> TaskInfo:
    retry = spec.retry
    return TaskInfo(
        spec.name,
        slot_of(spec, threads),
        retry.retries,
        retry.first_us,
        retry.cap_us,
        retry.factor,
        retry.jitter,
        retry.table_us,
        issubclass(TaskTimeout, retry.give_up_on) or not issubclass(TaskTimeout, retry.retry_on),
    )
