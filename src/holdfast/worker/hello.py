"""What a child says of its app, so that the supervisor need not import it."""

from holdfast.app.app import Holdfast
from holdfast.run.spec import TaskSpec
from holdfast.worker.messages import Hello, TaskInfo


def hello_of(app: Holdfast) -> Hello:
    """Sum up an app: its store, its tasks, the queues it declares."""
    registry = app.bench().registry
    names = registry.names()
    specs = {spec.name: spec for name in names if (spec := registry.find(name)) is not None}
    return Hello(
        url=app.url,
        namespace=app.namespace,
        tier=app.tier,
        is_signed=app.is_signed,
        tasks=tuple(_info(spec) for spec in specs.values()),
        names=names,
        queues=dict(app.declared_queues),
    )


def _info(spec: TaskSpec) -> TaskInfo:
    retry = spec.retry
    return TaskInfo(
        spec.name,
        spec.kind == "async",
        spec.timeout_us,
        retry.retries,
        retry.first_us,
        retry.cap_us,
        retry.factor,
        retry.jitter,
        retry.table_us,
    )
