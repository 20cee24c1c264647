"""What the scripts keep and answer, as the rest of the house knows it."""

from typing import Any, Final

import msgspec

from holdfast.model.claim import Claim
from holdfast.model.job import JobRecord, NewJob
from holdfast.model.run import Run
from holdfast.model.seen import SeenMark
from holdfast.model.states import State, seen_as
from holdfast.model.verdict import Outcome
from holdfast.policy.flow import Flow
from holdfast.store.redis.identities import identity

STAMP_BYTES: Final = 7
"""How long a stamp is where it is kept as bytes: enough for microseconds since 1970, as far as Lua can count (2255)."""
_NONCE_LENGTH: Final = 16


class Head(msgspec.Struct, array_like=True):
    """A job's changing values, in the order in which `lua/parts/shelf.lua` lists them. What is not set is False."""

    id: str
    task: str
    state: State
    priority: int
    due_us: int
    created_us: int
    expires_us: int | bool
    generation: int
    deliveries: int
    failures: int
    crashes: int
    crash_budget: int
    keep_done_s: int
    keep_dead_s: int
    result_ttl_s: int
    cancel_asked: bool
    worker: str | bool
    token: str | bool
    claimed_us: int | bool
    finished_us: int | bool
    keep_until_us: int | bool
    result_until_us: int | bool
    tags: tuple[str, ...] | bool
    runs: int
    lane: str | bool = False
    key: str | bool = False
    version: str | bool = False


class LaneRow(Flow, array_like=True):
    """What the limits of a lane remember, and how many of its jobs run, in the order of `lua/parts/flow.lua`."""

    running: int = 0


class _Story(msgspec.Struct, array_like=True):
    reason: str | bool
    error: str | bool
    traceback: str | bool


class _RunRow(msgspec.Struct, array_like=True):
    number: int
    generation: int
    worker: str
    token: str
    claimed_us: int
    ended_us: int
    took_us: int
    outcome: Outcome
    reason: str | bool
    error: str | bool
    traceback: str | bool


class _Progress(msgspec.Struct, array_like=True):
    fraction: float | None
    note: str | None


pack: Final = msgspec.msgpack.Encoder().encode
head_of: Final = msgspec.msgpack.Decoder(Head).decode
flow_of: Final = msgspec.msgpack.Decoder(LaneRow).decode
_story_of: Final = msgspec.msgpack.Decoder(_Story).decode
_run_of: Final = msgspec.msgpack.Decoder(_RunRow).decode
_progress_of: Final = msgspec.msgpack.Decoder(_Progress).decode


def new_row(stamp: str, job: NewJob, is_fresh: bool) -> tuple[Any, ...]:
    """Give a job as `push.lua` takes it."""
    return (
        stamp, job.id, job.task, job.priority, job.delay_us, job.at_us, job.expires_us, job.crash_budget,
        job.keep_done_s, job.keep_dead_s, job.result_ttl_s, job.tags or None, raw(_body(job)), is_fresh,
        job.lane, None if job.key is None else identity(job), None if job.seen is None else _seen(job.seen, job.is_forced),
    )  # fmt: skip


def raw(data: bytes | None) -> msgspec.Raw | None:
    """Give bytes as the scripts can read them: their MessagePack knows text only, of any bytes, and no binary type."""
    if data is None:
        return None
    length = len(data)
    if length < 1 << 8:
        return msgspec.Raw(bytes((0xD9, length)) + data)
    if length < 1 << 16:
        return msgspec.Raw(b"\xda" + length.to_bytes(2, "big") + data)
    return msgspec.Raw(b"\xdb" + length.to_bytes(4, "big") + data)


def claim(queue: str, packed: bytes, body: bytes, is_limited: bool) -> Claim:
    head = head_of(packed)
    seal, envelope = _parts(body)
    assert isinstance(head.token, str), "a claimed job has a token"
    return Claim(
        head.id, head.token, queue, head.task, envelope, seal, head.failures, head.crashes, head.crash_budget,
        int(head.claimed_us), head.due_us, is_limited,
    )  # fmt: skip


def record(queue: str, row: list[Any], now_us: int) -> JobRecord:
    """Give a row of `read.lua` as a reader may see it now. A result past its time to live does not show."""
    head = head_of(row[0])
    seal, envelope = _parts(row[1])
    story = _story_of(row[2]) if row[2] is not None else _Story(False, False, False)
    progress = _progress_of(row[4]) if row[4] is not None else _Progress(None, None)
    is_gone = head.result_until_us is not False and head.result_until_us <= now_us
    return JobRecord(
        id=head.id,
        queue=queue,
        task=head.task,
        state=seen_as(head.state, head.due_us, now_us),
        priority=head.priority,
        due_us=head.due_us,
        created_us=head.created_us,
        envelope=envelope,
        seal=seal,
        expires_us=number(head.expires_us),
        generation=head.generation,
        deliveries=head.deliveries,
        failures=head.failures,
        crashes=head.crashes,
        crash_budget=head.crash_budget,
        worker=_text(head.worker),
        claimed_us=number(head.claimed_us),
        finished_us=number(head.finished_us),
        keep_until_us=number(head.keep_until_us),
        reason=_text(story.reason),
        error=_text(story.error),
        traceback=_text(story.traceback),
        result=None if is_gone else row[3],
        result_until_us=number(head.result_until_us),
        cancel_asked=head.cancel_asked,
        progress=progress.fraction,
        progress_note=progress.note,
        tags=head.tags if isinstance(head.tags, tuple) else (),
        lane=_text(head.lane),
        key=_text(head.key),
        version=_text(head.version),
    )


def run(job_id: str, packed: bytes) -> Run:
    row = _run_of(packed)
    return Run(
        job_id, row.number, row.generation, row.worker, row.token, row.claimed_us, row.ended_us, row.took_us,
        row.outcome, _text(row.reason), _text(row.error), _text(row.traceback),
    )  # fmt: skip


def stamp_of(token: str) -> str:
    """Give the stamp of the job that a token was made for; of a token that we never made, one that no job has."""
    tail = token.partition("-")[2][_NONCE_LENGTH:]
    try:
        return str(int(tail, 16))
    except ValueError:
        return "0"


def mark(bytes_and_id: bytes) -> tuple[str, str]:
    """Give id and stamp of a dropped job, as `forget.lua` takes them."""
    return bytes_and_id[STAMP_BYTES:].decode(), str(int.from_bytes(bytes_and_id[:STAMP_BYTES], "big"))


def number(value: int | bool) -> int | None:
    return None if value is False else int(value)


def _text(value: str | bool) -> str | None:
    return value if isinstance(value, str) else None


def _seen(seen: SeenMark, is_forced: bool) -> tuple[Any, ...]:
    return raw(seen.digest), seen.ttl_us, seen.forgets_failure, is_forced


def _body(job: NewJob) -> bytes:
    seal = job.seal
    if seal is None:
        return b"\0\0" + job.envelope
    return (len(seal) + 1).to_bytes(2, "big") + seal + job.envelope


def _parts(body: bytes) -> tuple[bytes | None, bytes]:
    """Give seal and envelope of a body."""
    length = int.from_bytes(body[:2], "big")
    if length == 0:
        return None, body[2:]
    return body[2 : length + 1], body[length + 1 :]
