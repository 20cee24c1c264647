"""`holdfast health`: one line and an exit code, for container health checks and cron."""

from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from holdfast.cli.output import plural, print_json, say
from holdfast.cli.shared import is_json, shared
from holdfast.cli.source import opened
from holdfast.cli.times import DURATION, span
from holdfast.errors import InvalidInput, StoreError
from holdfast.model.queue import QueueRecord
from holdfast.model.worker import WorkerRecord
from holdfast.policy.moments import SECOND

if TYPE_CHECKING:
    from socket import socket

_MOST_BYTES: Final = 10_000


class Opinion(msgspec.Struct, frozen=True):
    """Whether all is well, why, and what it was read from."""

    is_healthy: bool
    detail: str
    facts: dict[str, Any] = {}


@click.command()
@click.argument("address", metavar="[URL]", required=False)
@click.option("--max-age", type=DURATION, help="Of the store: how long a ready job may have waited.")
@click.option("--timeout", type=DURATION, default="5s", show_default=True, help="Of a worker: wait so long for it.")
@shared
@click.pass_context
def health(ctx: click.Context, address: str | None, max_age: float | None, timeout: float) -> None:
    """Tell whether a worker, or the store, is well.

    With a URL, or HOST:PORT, of a worker that was started with --health: whether that worker is ready; with the path
    /live: whether it is live. Without: whether the store can be reached, and every queue with ready jobs that is not
    paused has a live worker.
    Exit codes: 0 it is, 1 it is not.

    \b
    Examples:
      holdfast health 127.0.0.1:9100
      holdfast health http://127.0.0.1:9100/live
      holdfast health --url sqlite:///jobs.db --max-age 5m
    """
    if address is not None and max_age is not None:
        raise InvalidInput("--max-age is about the store; leave out the address of the worker")
    opinion = _of_store(max_age) if address is None else _of_worker(address, timeout)
    if is_json():
        print_json({"is_healthy": opinion.is_healthy, "detail": opinion.detail, **opinion.facts})
    else:
        say(f"{'healthy' if opinion.is_healthy else 'unhealthy'}: {opinion.detail}")
    ctx.exit(0 if opinion.is_healthy else 1)


# --- a worker -----------------------------------------------------------------------------------------------------


def _of_worker(text: str, timeout_s: float) -> Opinion:
    from http.client import HTTPConnection, HTTPException  # 20 ms, and only for this

    from holdfast.worker.door import Address, parse_address  # loads the worker

    url = text if text.startswith("http://") else None
    address = parse_address(text) if url is None else Address(*_host_and_port(url))
    path = _path(url) or "/ready"
    asked = f"{address.url}{path}"
    connection = HTTPConnection(address.host or "localhost", address.port or None, timeout=timeout_s)
    try:
        if address.path:
            connection.sock = _connected(address.path, timeout_s)
        connection.request("GET", path)
        response = connection.getresponse()
        words = response.read(_MOST_BYTES).decode("utf-8", "replace").strip().partition("\n")[0]
        return Opinion(response.status == 200, words, {"url": asked, "code": response.status})
    except (OSError, HTTPException) as error:
        return Opinion(False, f"{asked} does not answer: {error or type(error).__name__}", {"url": asked, "code": None})
    finally:
        connection.close()


def _host_and_port(url: str) -> tuple[str, int]:
    from urllib.parse import urlsplit  # only for this

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidInput(f"expected a URL like http://127.0.0.1:9100/ready, got: {url!r} ({error})") from error
    if not host:
        raise InvalidInput(f"expected a URL like http://127.0.0.1:9100/ready, got: {url!r}")
    return host, port or 80


def _path(url: str | None) -> str:
    return "" if url is None else f"/{url.removeprefix('http://').partition('/')[2]}".rstrip("/")


def _connected(path: str, timeout_s: float) -> "socket":
    import socket  # only for this

    opened = socket.socket(socket.AF_UNIX)
    opened.settimeout(timeout_s)
    try:
        opened.connect(path)
    except OSError:
        opened.close()
        raise
    return opened


# --- the store ----------------------------------------------------------------------------------------------------


def _of_store(max_age_s: float | None) -> Opinion:
    try:
        with opened() as store:
            live = store.inspector.workers()
            records = [record for name in store.queues.names() if (record := store.queues.get(name))]
            now_us = store.now()
    except StoreError as error:
        return Opinion(False, str(error))
    waiting = [record for record in records if record.counts.get("ready") and not record.is_paused]
    ages_s = {record.name: _age_s(record, now_us) for record in waiting}
    ready = sum(record.counts["ready"] for record in waiting)
    problems = _unserved(waiting, live)
    if max_age_s is not None:
        late = {name: age_s for name, age_s in ages_s.items() if age_s > max_age_s}
        problems += [
            f"the oldest ready job of queue {name} has waited for {span(age_s)}" for name, age_s in late.items()
        ]
    facts = {"workers": len(live), "ready": ready, "oldest_ready_s": max(ages_s.values(), default=None)}
    return Opinion(not problems, "; ".join(problems) or _in_order(len(live), ready, ages_s), facts)


def _unserved(waiting: list[QueueRecord], live: list[WorkerRecord]) -> list[str]:
    """Find queues that no live worker serves. A worker that names no queues serves all."""
    if any(not worker.queues for worker in live):
        return []
    served = {name for worker in live for name in worker.queues}
    return [
        f"queue {record.name} holds {plural(record.counts['ready'], 'ready job')}, and no live worker serves it"
        for record in waiting
        if record.name not in served
    ]


def _in_order(workers: int, ready: int, ages_s: dict[str, float]) -> str:
    told = f"{plural(workers, 'live worker')}, {plural(ready, 'ready job')}"
    return f"{told}, the oldest for {span(max(ages_s.values()))}" if ages_s else told


def _age_s(record: QueueRecord, now_us: int) -> float:
    return 0.0 if record.oldest_ready_us is None else max(0, now_us - record.oldest_ready_us) / SECOND
